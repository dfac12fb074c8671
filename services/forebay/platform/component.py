"""The common base of broker and registry: start, stop, kill, restart, readiness."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from forebay.platform import process
from forebay.platform.errors import PlatformError
from forebay.platform.java import find_java
from forebay.platform.ports import require_free
from forebay.platform.progress import Progress, SilentProgress
from forebay.platform.state import ComponentRecord, PlatformRecord, StateFile
from forebay.platform.status import ComponentStatus, component_status

READY_SECONDS = 120.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1


class Component(ABC):
    """A Java process of the platform, whose pid is in the platform's state file."""

    name: ClassVar[str]
    port_option: ClassVar[str]

    def __init__(self, home: Path, state: StateFile) -> None:
        self.home = home
        self._state = state

    @property
    def log(self) -> Path:
        """The log file of the process's output."""
        return self.home / "logs" / f"{self.name}.log"

    @property
    def record(self) -> ComponentRecord:
        """The record of this component. Raises PlatformError if the platform was never started."""
        return self._of(self._platform_record())

    def is_running(self) -> bool:
        """Return whether the recorded process runs."""
        return process.find(self.record.process) is not None

    def status(self) -> ComponentStatus:
        """Return pid, port and memory."""
        return component_status(self.name, self.record, self.endpoint())

    def start(self, progress: Progress | None = None) -> None:
        """Start the process unless it runs, and wait until it answers.

        Raises:
            PlatformError: there is no Java, the port is in use, the process ended, or it doesn't answer within 120 s.
        """
        self.launch(progress or SilentProgress())
        self.wait_ready()

    def launch(self, progress: Progress) -> None:
        """Start the process unless it runs, without waiting."""
        if self.is_running():
            return
        java = find_java()
        require_free(self.record.port, self.name, self.port_option)
        arguments = self.prepare(java, progress)
        self._update(ComponentRecord(self.record.port, process.spawn(java, arguments, self.log, self.name)))

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until the process answers a real request.

        Raises:
            PlatformError: it ended, or doesn't answer in time. The error contains the log's last lines.
        """
        deadline = time.monotonic() + seconds
        while not self.answers():
            if not self.is_running():
                raise PlatformError(
                    f"the {self.name} ended while it started: the reason is at the end of {self.log}.",
                    process.log_tail(self.log),
                )
            if time.monotonic() > deadline:
                raise PlatformError(
                    f"the {self.name} doesn't answer on port {self.record.port} after {seconds:.0f} s: "
                    f"see {self.log}, then run `forebay down` and `forebay up`.",
                    process.log_tail(self.log),
                )
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Stop the process if it runs. It is killed after 30 s."""
        process.terminate(self.record.process, STOP_SECONDS)
        self._update(ComponentRecord(self.record.port))

    def kill(self) -> None:
        """Kill the process, as a crash would."""
        process.kill(self.record.process)
        self._update(ComponentRecord(self.record.port))

    def move(self, port: int) -> None:
        """Record another port for the next start."""
        self._update(ComponentRecord(port))

    def restart(self) -> None:
        """Stop the process, and start it again with the same port and data."""
        self.stop()
        self.start()

    @abstractmethod
    def endpoint(self) -> str:
        """Return the address for the configuration of clients."""

    @abstractmethod
    def prepare(self, java: Path, progress: Progress) -> list[str]:
        """Create the files that the process needs. Return java's arguments."""

    @abstractmethod
    def answers(self) -> bool:
        """Return whether the process answers a real request now."""

    @abstractmethod
    def _of(self, record: PlatformRecord) -> ComponentRecord: ...

    @abstractmethod
    def _with_component(self, record: PlatformRecord, own: ComponentRecord) -> PlatformRecord: ...

    def _platform_record(self) -> PlatformRecord:
        record = self._state.load()
        if record is None:
            raise PlatformError(f"no platform in {self.home}: run `forebay up` first.")
        return record

    def _update(self, own: ComponentRecord) -> None:
        self._state.save(self._with_component(self._platform_record(), own))
