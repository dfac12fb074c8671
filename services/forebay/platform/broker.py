"""The Kafka broker: KRaft, a single node that is broker and controller."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from forebay.platform import process
from forebay.platform.artifacts import kafka_classpath
from forebay.platform.broker_settings import LOG4J2, recovery_properties, server_properties
from forebay.platform.component import Component
from forebay.platform.crash_recovery import crashed, fence_crashed_broker
from forebay.platform.errors import PlatformError
from forebay.platform.ports import HOST, free_port, is_free
from forebay.platform.progress import Progress
from forebay.platform.state import ComponentRecord, PlatformRecord

_FORMAT_SECONDS = 120
_REQUEST_SECONDS = 2.0
# A small heap and no parallel collector: the broker shares two cores with Spark.
_JVM = ("-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true")


class Broker(Component):
    """A real Kafka broker on the loopback address."""

    name = "broker"
    port_option = "--broker-port"

    def endpoint(self) -> str:
        """Give bootstrap.servers."""
        return f"{HOST}:{self.record.port}"

    def prepare(self, java: Path, progress: Progress) -> list[str]:
        """Write the settings and format the data directory at the first start."""
        classpath = os.pathsep.join(str(jar) for jar in kafka_classpath(progress))
        record = self._with_free_controller_port()
        directory = self.home / "broker"
        data, settings, log4j2 = directory / "data", directory / "server.properties", directory / "log4j2.properties"
        data.mkdir(parents=True, exist_ok=True)
        log4j2.write_text(LOG4J2, encoding="utf-8")
        settings.write_text(server_properties(record.broker.port, record.controller_port, data), encoding="utf-8")
        common = [*_JVM, f"-Dlog4j2.configurationFile={log4j2}", "-cp", classpath]
        if not (data / "meta.properties").exists():
            self._format(java, [*common, "kafka.tools.StorageTool", "format"], record.cluster_id, settings)
        elif crashed(data):
            progress.step("the broker was not stopped in good order: recovering")
            alone = directory / "recovery.properties"
            alone.write_text(recovery_properties(record.controller_port, data), encoding="utf-8")
            fence_crashed_broker(java, [*common, "kafka.Kafka", str(alone)], self.home / "logs" / "recovery.log")
        return [*common, "kafka.Kafka", str(settings)]

    def answers(self) -> bool:
        """Ask for the list of topics."""
        try:
            socket.create_connection((HOST, self.record.port), _REQUEST_SECONDS).close()
            admin = AdminClient({"bootstrap.servers": self.endpoint(), "log_level": 0})
            return bool(admin.list_topics(timeout=_REQUEST_SECONDS).brokers)
        except (KafkaException, OSError):
            return False

    def _format(self, java: Path, command: list[str], cluster_id: str, settings: Path) -> None:
        with self.log.open("ab") as output:
            formatting = subprocess.run(
                [java, *command, f"--cluster-id={cluster_id}", "--config", str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_FORMAT_SECONDS,
                check=False,
            )
        if formatting.returncode != 0:
            raise PlatformError(
                f"the broker's data directory can't be formatted: the reason is at the end of {self.log}.",
                process.log_tail(self.log),
            )

    def _with_free_controller_port(self) -> PlatformRecord:
        """Take another controller port if the recorded one is in use: no client knows it."""
        record = self._platform_record()
        if is_free(record.controller_port):
            return record
        taken = frozenset({record.broker.port, record.registry.port})
        moved = dataclasses.replace(record, controller_port=free_port(taken))
        self._state.save(moved)
        return moved

    def _of(self, record: PlatformRecord) -> ComponentRecord:
        return record.broker

    def _replaced(self, record: PlatformRecord, own: ComponentRecord) -> PlatformRecord:
        return dataclasses.replace(record, broker=own)
