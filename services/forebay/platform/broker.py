"""The Kafka broker: KRaft, a single node that is broker and controller."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from forebay.platform.broker_files import broker_arguments
from forebay.platform.broker_settings import Additions, Listeners
from forebay.platform.component import Component
from forebay.platform.ports import HOST, free_port, is_free
from forebay.platform.progress import Progress
from forebay.platform.state import ComponentRecord, PlatformRecord, StateFile

_REQUEST_SECONDS = 2.0


class Broker(Component):
    """A real Kafka broker on the loopback address."""

    name = "broker"
    port_option = "--broker-port"

    def __init__(self, home: Path, state: StateFile, additions: Additions | None = None) -> None:
        super().__init__(home, state)
        self._additions = additions or Additions()

    def endpoint(self) -> str:
        """Return bootstrap.servers."""
        return f"{HOST}:{self.record.port}"

    def prepare(self, java: Path, progress: Progress) -> list[str]:
        """Write the settings and format the data directory at the first start."""
        record = self._with_free_controller_port()
        more = self._additions
        listeners = Listeners(record.broker.port, record.controller_port, others=more.listeners)
        directory, logs = self.home / "broker", self.home / "logs"
        return broker_arguments(java, directory, logs, listeners, record.cluster_id, progress, more.settings)

    def answers(self) -> bool:
        """Return whether the broker returns its list of topics."""
        try:
            socket.create_connection((HOST, self.record.port), _REQUEST_SECONDS).close()
            admin = AdminClient({"bootstrap.servers": self.endpoint(), "log_level": 0})
            return bool(admin.list_topics(timeout=_REQUEST_SECONDS).brokers)
        except (KafkaException, OSError):
            return False

    def _with_free_controller_port(self) -> PlatformRecord:
        """Choose another controller port if the recorded one is in use. No client knows it."""
        record = self._platform_record()
        if is_free(record.controller_port):
            return record
        taken = frozenset({record.broker.port, record.registry.port})
        moved = dataclasses.replace(record, controller_port=free_port(taken))
        self._state.save(moved)
        return moved

    def _of(self, record: PlatformRecord) -> ComponentRecord:
        return record.broker

    def _with_component(self, record: PlatformRecord, own: ComponentRecord) -> PlatformRecord:
        return dataclasses.replace(record, broker=own)
