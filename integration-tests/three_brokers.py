"""A Kafka cluster of three brokers, which are also controllers, on the loopback address."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from forebay.platform import Endpoints
from forebay.platform.artifacts import kafka_classpath
from forebay.platform.broker_settings import LOG4J2, Listeners, server_properties
from forebay.platform.java import find_java
from forebay.platform.ports import HOST, free_port
from forebay.platform.progress import SilentProgress

_JVM = ("-Xmx384m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_START_SECONDS = 120.0
_TRANSACTIONS = "__transaction_state"
_REPLICATED = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "unclean.leader.election.enable": "false",
    # Time after which other brokers become the leaders of a killed broker's partitions.
    "broker.session.timeout.ms": 6_000,
    "controlled.shutdown.enable": "true",
    "log.retention.ms": -1,
}


@dataclass(slots=True)
class Node:
    """One of the brokers."""

    number: int
    listeners: Listeners
    home: Path
    arguments: list[str]
    process: psutil.Popen | None = None

    def start(self) -> None:
        """Start the broker, without waiting until it responds."""
        output: IO[bytes]
        with (self.home / "broker.log").open("ab") as output:
            self.process = psutil.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def end(self, *, clean: bool) -> None:
        """Shut the broker down, so that others first become leaders of its partitions, or kill it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM if clean else signal.SIGKILL)
        self.process.wait(90)


class ThreeBrokers:
    """The cluster. Topics have three replicas, of which two must store a record before it is acknowledged.

    Args:
        folder: Folder for data and logs.
        registry: Address of the schema registry that the tests use.
    """

    def __init__(self, folder: Path, registry: str) -> None:
        taken: list[int] = []
        for _ in range(6):
            taken.append(free_port(frozenset(taken)))
        voters = ",".join(f"{number}@{HOST}:{taken[2 + number]}" for number in (1, 2, 3))
        self._endpoints = Endpoints(",".join(f"{HOST}:{port}" for port in taken[:3]), registry)
        self.nodes = {
            number: _prepare(number, folder / f"node-{number}", Listeners(taken[number - 1], taken[2 + number]), voters)
            for number in (1, 2, 3)
        }

    def up(self) -> Endpoints:
        """Start the brokers that don't run, and wait until all three respond."""
        for node in self.nodes.values():
            if node.process is None or not node.process.is_running():
                node.start()
        self.until_complete()
        return self._endpoints

    def close(self) -> None:
        """End all brokers."""
        for node in self.nodes.values():
            if node.process is not None and node.process.is_running():
                node.end(clean=False)

    def bounce(self, node: Node, *, clean: bool) -> None:
        """Restart a broker, and wait until it has caught up."""
        node.end(clean=clean)
        node.start()
        self.until_complete()

    def leader_of(self, topic: str, partition: int) -> Node:
        """Return the leader of a partition."""
        metadata = self._admin().list_topics(topic, timeout=20)
        return self.nodes[metadata.topics[topic].partitions[partition].leader]

    def controller(self) -> Node:
        """Return the active controller."""
        admin = self._admin()
        described = admin.describe_cluster().result(20)
        return self.nodes[described.controller.id]

    def coordinator_of(self, transactional_id: str) -> Node:
        """Return the broker that decides the transactions of a producer."""
        partitions = self._admin().list_topics(_TRANSACTIONS, timeout=20).topics[_TRANSACTIONS].partitions
        return self.leader_of(_TRANSACTIONS, abs(_java_hash(transactional_id)) % len(partitions))

    def until_complete(self) -> None:
        """Wait until all brokers have joined and every partition has three copies in sync."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_complete():
            for node in self.nodes.values():
                assert node.process is not None
                assert node.process.poll() is None, f"broker {node.number} ended: see {node.home}/broker.log"
            assert time.monotonic() < deadline, f"the three brokers are not in sync within {_START_SECONDS:.0f} s"
            time.sleep(0.2)

    def _is_complete(self) -> bool:
        try:
            metadata = self._admin().list_topics(timeout=2)
        except KafkaException:
            return False
        parts = [part for topic in metadata.topics.values() for part in topic.partitions.values()]
        return len(metadata.brokers) == len(self.nodes) and all(len(part.isrs) == len(part.replicas) for part in parts)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._endpoints.bootstrap_servers, "log_level": 0})


def _java_hash(text: str) -> int:
    """Return `hashCode` of a text in Java, by which Kafka chooses the partition of a transactional id."""
    number = 0
    for letter in text:
        number = (31 * number + ord(letter)) & 0xFFFF_FFFF
    return number - (1 << 32) if number >> 31 else number


def _prepare(number: int, home: Path, listeners: Listeners, voters: str) -> Node:
    data, settings, log4j2 = home / "data", home / "server.properties", home / "log4j2.properties"
    data.mkdir(parents=True)
    log4j2.write_text(LOG4J2)
    further = {"node.id": str(number), "controller.quorum.voters": voters}
    further |= {name: str(value) for name, value in _REPLICATED.items()}
    settings.write_text(server_properties(listeners, data, further))
    classpath = os.pathsep.join(map(str, kafka_classpath(SilentProgress())))
    common = [str(find_java()), *_JVM, f"-Dlog4j2.configurationFile={log4j2}", "-cp", classpath]
    storage = ["kafka.tools.StorageTool", "format", f"--cluster-id={_CLUSTER_ID}", "--config", str(settings)]
    subprocess.run([*common, *storage], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return Node(number, listeners, home, [*common, "kafka.Kafka", str(settings)])
