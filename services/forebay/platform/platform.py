"""The embedded platform as a whole: up, down, status."""

from __future__ import annotations

import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from forebay.platform.broker import Broker
from forebay.platform.broker_settings import Additions
from forebay.platform.component import Component
from forebay.platform.errors import PlatformError
from forebay.platform.home import STATE_FILE, default_home, delete_home, lock, make_home, unwritable
from forebay.platform.ports import free_port, require_free
from forebay.platform.progress import Progress, SilentProgress
from forebay.platform.registry import Registry
from forebay.platform.state import ComponentRecord, PlatformRecord, Ports, StateFile
from forebay.platform.status import PlatformStatus


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of the platform for clients."""

    bootstrap_servers: str
    registry_url: str


class Platform:
    """A Kafka broker and a schema registry with their data and logs in one directory.

    As a context manager, it runs inside the block, and is stopped after it. Its data is kept.

    Args:
        broker: additional listeners and settings of the broker, which are not recorded.
    """

    def __init__(self, home: Path | None = None, ports: Ports | None = None, broker: Additions | None = None) -> None:
        self.home = (home or default_home()).absolute()
        self._ports = ports or Ports()
        self._state = StateFile(self.home / STATE_FILE)
        self.broker = Broker(self.home, self._state, broker)
        self.registry = Registry(self.home, self._state)

    @property
    def components(self) -> tuple[Component, ...]:
        """All components, in the order of their start."""
        return (self.broker, self.registry)

    @property
    def endpoints(self) -> Endpoints:
        """The addresses for clients. Raises PlatformError if the platform was never started."""
        return Endpoints(self.broker.endpoint(), self.registry.endpoint())

    def up(self, progress: Progress | None = None) -> Endpoints:
        """Start the components that don't run, with the recorded ports and data, and wait until all answer.

        Raises:
            PlatformError: a component can't be started. The components that this call started are stopped.
        """
        progress = progress or SilentProgress()
        make_home(self.home)
        with lock(self.home):
            try:
                self._record_ports()
                self._start([component for component in self.components if not component.is_running()], progress)
            except OSError as error:
                raise unwritable(self.home, error) from error
            return self.endpoints

    def down(self) -> None:
        """Stop the components that run. Their data is kept."""
        if self._state.load() is None:
            return
        with lock(self.home):
            self._stop()

    def delete(self) -> None:
        """Stop the components that run, and delete the directory with topics, schemas, logs and all other files.

        Raises:
            PlatformError: the directory is not that of a platform, or can't be deleted.
        """
        self.down()
        delete_home(self.home)

    def status(self) -> PlatformStatus:
        """Return the status of all components."""
        if self._state.load() is None:
            return PlatformStatus(str(self.home), ())
        return PlatformStatus(str(self.home), tuple(component.status() for component in self.components))

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.down()

    def _start(self, components: list[Component], progress: Progress) -> None:
        for component in components:
            require_free(component.record.port, component.name, component.port_option)
        try:
            for component in components:
                component.launch(progress)
                progress.step(f"starting the {component.name} on {component.endpoint()}")
            for component in components:
                component.wait_ready()
                progress.step(f"the {component.name} answers")
        except BaseException:
            for component in components:
                component.stop()
            raise

    def _stop(self) -> None:
        # End the registry first. It does not need the broker, whose end takes longest.
        for component in reversed(self.components):
            component.stop()

    def _record_ports(self) -> None:
        record = self._state.load()
        self._require_two_ports(record)
        if record is None:
            self._state.save(self._first_record())
            return
        for component, wanted in self._wanted_ports():
            if wanted == component.record.port:
                continue
            if component.is_running():
                raise PlatformError(
                    f"the {component.name} already runs on port {component.record.port}: "
                    f"`forebay down` first to move it to port {wanted}."
                )
            require_free(wanted, component.name, component.port_option)
            component.move(wanted)

    def _require_two_ports(self, record: PlatformRecord | None) -> None:
        """Raise PlatformError if both components have the same port."""
        broker = self._ports.broker or (record.broker.port if record else None)
        registry = self._ports.registry or (record.registry.port if record else None)
        if broker is not None and broker == registry:
            given = self.broker if self._ports.registry is None else self.registry
            raise PlatformError(
                f"broker and registry can't both listen on port {broker}: choose another port with {given.port_option}."
            )

    def _wanted_ports(self) -> list[tuple[Component, int]]:
        wanted = ((self.broker, self._ports.broker), (self.registry, self._ports.registry))
        return [(component, port) for component, port in wanted if port is not None]

    def _first_record(self) -> PlatformRecord:
        for component, port in self._wanted_ports():
            require_free(port, component.name, component.port_option)
        taken = {port for port in (self._ports.broker, self._ports.registry) if port is not None}
        broker = self._ports.broker or free_port(frozenset(taken))
        registry = self._ports.registry or free_port(frozenset(taken | {broker}))
        return PlatformRecord(
            cluster_id=urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="),
            controller_port=free_port(frozenset(taken | {broker, registry})),
            broker=ComponentRecord(broker),
            registry=ComponentRecord(registry),
        )
