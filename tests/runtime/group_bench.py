"""A group of one task on a broker in memory, for tests of its commits."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from forebay.job import Job
from forebay.partitioner import Partitioner
from forebay.processor import AnyProcessor
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Headers
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.changelog.topics import repartition_topic
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.coverage import Retention
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.snapshot import SnapshotWriter
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.transaction import GroupProducer
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.broker import Broker, Record
from tests.runtime.simulator.clients import MemoryAdmin, MemoryConsumer, MemoryProducer
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.worker import Loop, MemorySurroundings
from tests.runtime.task_records import APPLICATION, CODECS, OUTPUT, TOPIC, Number, Sum, Total

PLACE = (0, 0)
NOW = 1_000_000
DAY = 86_400_000


class GroupBench:
    """A group of one task. `worker()` replaces the process.

    Args:
        processor: The task's logic.
        checkpoint: Identity of the checkpoint.
        partitions: Number of partitions of the input topic.
        repartitions: Names of the repartitions to which the task forwards records.
        engine: Fields of EngineSettings that differ from the defaults.
    """

    def __init__(
        self,
        processor: type[AnyProcessor] = Sum,
        checkpoint: str = "c1",
        partitions: int = 1,
        repartitions: tuple[str, ...] = (),
        **engine: Any,
    ) -> None:
        self.processor, self.checkpoint, self.partitions = processor, checkpoint, partitions
        self.engine = EngineSettings(service="sums", **engine)
        self.settings = TaskSettings("app-0-0", 0, 0, sends=repartitions)
        self.repartitions = {name: repartition_topic(APPLICATION, name) for name in repartitions}
        self.broker = Broker(random.Random(0))
        self.logs = sub_topology_log(APPLICATION, 0, processor())
        for topic, count in {TOPIC: partitions, OUTPUT: 1, "errors": 1, "late": 1}.items():
            self.broker.create(topic, count)
        for topic in (*self.logs.rows().topics, *self.repartitions.values()):
            self.broker.create(topic, 1)
        self.store, self.number, self.restore = Store(), 1, False
        self.fails: str = ""
        """The fault point at which the broker does not answer the next time."""
        self.worker()

    @property
    def job(self) -> Job:
        return Job({TOPIC: Number}, {OUTPUT: Total}, object, lambda _: self.processor())

    @property
    def lease(self) -> Lease:
        start = {TOPIC: (0,) * self.partitions}
        return Lease(self.checkpoint, self.number, 0, 1, 1, 0, start, restore=self.restore)

    def at(self, point: str) -> None:
        if point == self.fails:
            self.fails = ""
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def wait(self, seconds: float) -> None:
        self.broker.now += max(seconds, 0.001)

    def monotonic(self) -> float:
        return self.broker.now

    def wall_clock(self) -> int:
        return NOW + int(self.broker.now * 1_000)

    def worker(self) -> None:
        """Continue in a new process, which starts from the snapshots alone."""
        environment: Any = self
        processor, self.table = self.processor(), MemoryTable()
        log = sub_topology_log(APPLICATION, 0, self.processor())
        self.task = StateTask(
            TaskEngine(processor, CODECS, self.table, self.engine),
            self.table,
            log.router(0),
            log.rows(),
            Announcer(1.0, self.monotonic),
            self.settings,
        )
        storage = self.store.storage(self.checkpoint)
        self.keeper = SnapshotKeeper(storage)
        writer = SnapshotWriter(self.task)
        stored = writer.load(storage)
        consumer: Any = MemoryConsumer(self.broker, lambda _: None, self.wait, fetch=10_000)
        admin: Any = MemoryAdmin(self.broker, self.at)
        producer: Any = lambda: MemoryProducer(self.broker, "app-group-0", self.at)  # noqa: E731
        self.group = TaskGroup(
            [self.task],
            {PLACE: writer},
            GroupReader(consumer, admin),
            GroupProducer(consumer, producer, Destinations("errors", "late", self.repartitions, Partitioner(1))),
            MemorySurroundings(environment, self.at),
            Pacing(Limits(), self.monotonic),
            GroupSettings("app-group-0", Retention(DAY)),
            self.wall_clock,
            self.monotonic,
        )
        self.group.coverage.begin_with([stored])

    def feed(self, *events: tuple[str, int, int]) -> None:
        """Append (key, timestamp, amount) to partition 0."""
        for key, timestamp, amount in events:
            self.add(key, Number(f"e{self.broker.partitions[TOPIC, 0].end}", timestamp, amount))

    def add(self, key: str, event: Number, partition: int = 0) -> None:
        headers: Headers = [("origin", b"test")]
        value = CODECS.inputs[TOPIC].encode(event)
        self.broker.append((TOPIC, partition), key.encode(), value, event.timestamp, headers)

    def run(self, idle_seconds: float = 0) -> int:
        """Commit all waiting records, then let idle time pass. Return the number of commits."""
        if not self.group.is_open:
            self.group.open(self.lease)
        commits = 0
        while self.group.cycle(self.lease, 0.1):
            commits += 1
        self.wait(idle_seconds)
        while self.group.cycle(self.lease, 0.1):
            commits += 1
        return commits

    def fail(self, point: str) -> None:
        """Make the broker unreachable at a fault point, and roll the cycle back as the loop does."""
        self.fails = point
        try:
            self.run()
        finally:
            self.group.abandon()

    def end_lease(self) -> None:
        """Write the task's snapshot, after the broker has written the markers of all commits."""
        for _ in self.broker.partitions:
            self.broker.settle()
        self.keeper.write(Loop(self.group, 1e9, self.monotonic, self.keeper))
        self.number += 1

    def outputs(self) -> list[tuple[str, Total]]:
        """Return key and total of each committed output record."""
        codec = CODECS.outputs[OUTPUT]
        return [((r.key_ or b"").decode(), codec.decode(r.value_ or b"")) for r in self.broker.committed(OUTPUT)]

    def errors(self) -> list[Record]:
        return self.broker.committed("errors")

    def positions(self) -> list[TaskPosition]:
        internal = self.broker.committed(self.logs.internal)
        return [TaskPosition.from_json(r.value_ or b"") for r in internal if r.key_ == POSITION]

    def rows(self) -> dict[bytes, bytes]:
        """Return the task's rows as a new process restores them."""
        self.group.abandon()
        self.worker()
        self.group.open(self.lease)
        return dict(self.table.scan(b""))

    def totals(self) -> dict[str, Total]:
        """Return the restored rows of the store `totals`, by key."""
        codec, prefix = CODECS.stores["totals"], b"totals\0"
        rows = {key[len(prefix) :]: value for key, value in self.rows().items() if key.startswith(prefix)}
        return {key.decode(): codec.decode(value) for key, value in rows.items()}

    def limit(self, **changes: Any) -> None:
        """Continue in a new process with other settings of the task."""
        self.settings = replace(self.settings, **changes)
        self.group.abandon()
        self.worker()
