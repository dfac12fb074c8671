"""A slow group still relies on a caught-up sender of another group, so that sub-topologies advance together."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import pytest

from forebay.job import Job, Stage
from forebay.processor import Context
from forebay.runtime.driver.record_formats import Layouts
from forebay.runtime.protocol.lease import LeaseOffset
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.pacing import Limits
from tests.runtime.simulator import worker
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.topologies import INPUT, OUTPUT, Collect, JsonCodec, Number, Spread, topics
from tests.runtime.simulator.worker import build, logs

COUNT = 200
"""Number of records in the backlog."""
MOST = 40
"""Maximum number of records per commit."""


@pytest.fixture(autouse=True)
def commits_of_forty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Limits", lambda **_: Limits(max_records=MOST, commit_interval_ms=10))


class SlowSpread(Spread):
    """Spends simulated time on each record, during which the other group runs."""

    def __init__(self, bench: TwoGroups) -> None:
        self.bench = bench

    def process(self, event: Number, ctx: Context[Number]) -> None:
        self.bench.take_time(self.bench.record_seconds)
        super().process(event, ctx)


class TwoGroups:
    """Two groups of one task each (implements `worker.Environment`): the first has no input, the second a backlog.

    Args:
        record_seconds: Processing time of a record.
    """

    read_ahead = 30
    layouts: ClassVar[Layouts] = {}

    def __init__(self, record_seconds: float) -> None:
        self.record_seconds = record_seconds
        self.broker = Broker(random.Random(0))
        self.broker.late.share = 0.0
        first: Any = lambda _: SlowSpread(self)  # noqa: E731
        self.job = Job({INPUT: Number}, {OUTPUT: Number}, object, first, (Stage("grouped", Number, _collect),))
        for topic, partitions in topics(self.job, 2, 2).items():
            self.broker.create(topic, partitions)
        for log in logs(self.job):
            for topic in log.rows().topics:
                self.broker.create(topic, 2)
        offset = LeaseOffset("c1", 1, 2, 2, 0, {INPUT: (0, 0)}, {}, None, restore=False)
        self.leases = offset.leases(frozenset())
        environment: Any = self
        self.groups = [
            build(environment, lease, Store().storage(lease.checkpoint, self.at), self.at) for lease in self.leases
        ]
        for group, lease in zip(self.groups, self.leases, strict=True):
            group.open(lease)

    def at(self, _point: str) -> None:
        self.broker.now += 0.0005
        self.broker.settle()

    def monotonic(self) -> float:
        return self.broker.now

    def wall_clock(self) -> int:
        return int(self.broker.now * 1_000) + 1_700_000_000_000

    def wait(self, seconds: float) -> None:
        self.broker.now += max(seconds, 0.001)

    def take_time(self, seconds: float) -> None:
        """Let time pass, in which the first group runs."""
        until = self.broker.now + seconds
        while self.broker.now < until:
            self.run(0)

    def run(self, number: int) -> bool:
        """Run one cycle of a group's loop."""
        return self.groups[number].cycle(self.leases[number], 0.1)

    def feed(self) -> None:
        for number in range(COUNT):
            value = JsonCodec().encode(Number(number, number))
            self.broker.append((INPUT, 1), b"key", value, 1_000 + number)


def _collect(_settings: object) -> Collect:
    return Collect()


def count_used(group: TaskGroup, part: int) -> int:
    """Return how many records a group's task of a sub-topology has processed and committed."""
    (task,) = (task for task in group.tasks if task.place[0] == part)
    return sum(task.figures.records_in.values())


def start(record_seconds: float) -> TwoGroups:
    """Return two groups that have caught up and announced it. The second group then has a new backlog."""
    bench = TwoGroups(record_seconds)
    for _ in range(20):
        bench.run(0)
        bench.run(1)
    bench.feed()
    return bench


@pytest.mark.parametrize("record_seconds", [0.01, 0.05, 0.3, 0.6, 1.2])
def test_sub_topologies_advance_together_however_slow_the_logic_is(record_seconds: float) -> None:
    bench, behind = start(record_seconds), list[int]()
    while count_used(bench.groups[1], 0) < COUNT:
        bench.run(1)
        behind.append(count_used(bench.groups[1], 0) - sum(count_used(group, 1) for group in bench.groups))
    assert max(behind) <= MOST, "what one commit may forward"


def test_a_slow_task_queues_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.runtime.worker.reader.MOST_WAITING", 20)
    bench, waiting = start(record_seconds=1.2), list[int]()
    while count_used(bench.groups[1], 0) < COUNT:
        bench.run(1)
        waiting.append(bench.groups[1].tasks[0].input.waiting)
    # In addition to the limit, one commit's records and those of one read may be waiting.
    assert 0 < max(waiting) <= 20 + MOST + 7
