"""In a group of several tasks, a record that exhausts memory is isolated and sent to .errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.partitioner import Partitioner
from forebay.processor import Context
from forebay.processor.engine import TaskEngine
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.coverage import Retention
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.snapshot import SnapshotWriter
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.transaction import GroupProducer
from forebay.stores.memory import MemoryTable
from tests.runtime.group_bench import DAY, GroupBench
from tests.runtime.simulator.clients import MemoryAdmin, MemoryConsumer, MemoryProducer
from tests.runtime.simulator.worker import MemorySurroundings
from tests.runtime.task_records import APPLICATION, CODECS, TOPIC, JsonCodec, Number, Sum, Total

TASKS = 2
COUNT = 40
POISON = 13
REPARTITION = "app-onward-repartition"
FETCH_SECONDS = 0.15


class Hungry(Sum):
    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if event.amount == POISON:
            raise MemoryError


class Unencodable(JsonCodec):
    """Runs out of memory when it encodes the poisoned row at the end of a commit."""

    is_frozen = True

    def encode(self, record: Total) -> bytes:
        if record.amount == POISON:
            raise MemoryError
        return super().encode(record)


class SlowReader(GroupReader):
    """A reader whose first records arrive some time after the assignment, as from a real broker."""

    bench: TasksBench
    _assigned_at = 0.0

    def assign(self, inputs: Any) -> None:
        super().assign(inputs)
        self._assigned_at = self.bench.monotonic()

    def read(self, seconds: float, most: int) -> int:
        left = self._assigned_at + FETCH_SECONDS - self.bench.monotonic()
        if left <= 0:
            return super().read(seconds, most)
        self.bench.wait(min(seconds, left))
        return 0


class TasksBench(GroupBench):
    """A group of several tasks.

    Args:
        sends: Names of the repartitions that the tasks forward to.
    """

    def __init__(self, processor: type[Sum], sends: tuple[str, ...]) -> None:
        self.sends = sends
        super().__init__(processor, partitions=TASKS)

    @property
    def lease(self) -> Lease:
        return Lease(self.checkpoint, self.number, 0, 1, TASKS, 0, {TOPIC: (0,) * TASKS})

    def worker(self) -> None:
        environment: Any = self
        for topic in (*self.logs.rows().topics, REPARTITION):
            self.broker.create(topic, TASKS)
        tasks = [self._task(number) for number in range(TASKS)]
        consumer: Any = MemoryConsumer(self.broker, lambda _: None, self.wait, fetch=10_000)
        admin: Any = MemoryAdmin(self.broker, self.at)
        producer: Any = lambda: MemoryProducer(self.broker, "app-group-0", self.at)  # noqa: E731
        reader = SlowReader(consumer, admin)
        reader.bench = self
        self.group = TaskGroup(
            tasks,
            {task.place: SnapshotWriter(task) for task in tasks},
            reader,
            GroupProducer(
                consumer, producer, Destinations("errors", "late", {"onward": REPARTITION}, Partitioner(TASKS))
            ),
            MemorySurroundings(environment, self.at),
            Pacing(Limits(), self.monotonic),
            GroupSettings("app-group-0", Retention(DAY)),
            self.wall_clock,
            self.monotonic,
        )
        self.group.coverage.begin_with([None] * TASKS)

    def _task(self, number: int) -> StateTask:
        processor, table = self.processor(), MemoryTable()
        log = sub_topology_log(APPLICATION, 0, processor)
        return StateTask(
            TaskEngine(processor, CODECS, table, self.engine),
            table,
            log.router(number),
            log.rows(),
            Announcer(1.0, self.monotonic),
            TaskSettings(f"app-0-{number}", 0, number, self.sends),
        )

    def settle(self) -> int:
        """Run cycles as the loop does until all records are committed. Return how often memory ran out."""
        failures = 0
        while self._commit_number() < TASKS * COUNT:
            try:
                if not self.group.is_open:
                    self.group.open(self.lease)
                self.group.cycle(self.lease, 0.1)
            except MemoryError:
                failures += 1
                assert failures < 12, "it is retried without end"
                self.group.abandon()
                self.group._pacing.halve()
        return failures

    def _commit_number(self) -> int:
        return sum(end for task in self.group.tasks for _, _, end in task.position.ends)


@pytest.mark.parametrize("place", [0, 20, COUNT - 1])
@pytest.mark.parametrize("sends", [(), ("onward",)])
@pytest.mark.parametrize("how", ["logic", "encoding a row"])
def test_only_the_record_that_exhausts_memory_goes_to_errors(
    how: str, sends: tuple[str, ...], place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor: type[Sum] = Hungry
    if how == "encoding a row":
        processor = Sum
        changed = replace(CODECS, stores={"totals": Unencodable(Total)})
        monkeypatch.setattr("tests.runtime.test_blamed_among_tasks.CODECS", changed)
    bench = TasksBench(processor, sends)
    for number in range(COUNT):
        for task in range(TASKS):
            amount = POISON if (number, task) == (place, 0) else 1
            bench.add(f"key-{number}-{task}", Number(f"e{number}-{task}", number, amount), task)
    failures = bench.settle()
    if how == "logic":
        assert failures == 1
    (error,) = bench.errors()
    headers = dict(error.headers_ or [])
    assert (headers["error.offset"], headers["error.partition"]) == (str(place).encode(), b"0")
    assert len(bench.outputs()) == TASKS * COUNT - 1
