"""If a process was frozen, its known partition ends are outdated, so it looks them up again before it uses records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from forebay.runtime.task.fetching import Gathering
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.partition_queue import InputPartition
from tests.runtime.records import give


class Broker:
    """A reader that receives some clicks and prices at each read. The process is frozen before the second read."""

    def __init__(self, frozen_seconds: float) -> None:
        self.now = 100.0
        self.clicks, self.prices = InputPartition("clicks", 0, 1, 0), InputPartition("prices", 0, 0, 0)
        self.bytes = 0
        self.looks = 0
        self._ends = [(2, 1), (9, 4)]
        self._reads = [((1,), (1,)), ((2,), (100, 200)), (tuple(range(3, 10)), (300,))]
        self._frozen_seconds = frozen_seconds

    def read(self, seconds: float, most: int) -> int:
        if len(self._reads) == 2:
            self.now += self._frozen_seconds
        clicks, prices = self._reads.pop(0)
        give(self.clicks, *clicks)
        give(self.prices, *prices)
        return len(clicks) + len(prices)

    def look(self) -> None:
        self.looks += 1
        self.clicks.end, self.prices.end = self._ends.pop(0)

    def has_all(self, item: TaskInput) -> bool:
        return item.is_read

    def assign(self, inputs: Any) -> None:
        return


class Task:
    def __init__(self, item: TaskInput, sends: tuple[str, ...]) -> None:
        self.input = item
        self.settings = SimpleNamespace(sends=sends, sub_topology_number=0)

    @property
    def waiting(self) -> int:
        return self.input.waiting


def open_reader(broker: Broker, sends: tuple[str, ...] = ()) -> tuple[Gathering, TaskInput]:
    item = TaskInput([broker.clicks, broker.prices])
    task: Any = Task(item, sends)
    clock = lambda: broker.now  # noqa: E731
    reader: Any = broker
    gathering = Gathering([task], reader, Pacing(Limits(commit_interval_ms=0), clock), clock)
    gathering.open(is_shared=True)
    return gathering, item


def gather_input(broker: Broker) -> TaskInput:
    gathering, item = open_reader(broker)
    gathering.gather(1.0, left_records=False)
    return item


def test_earlier_records_precede_those_that_arrived_during_the_freeze() -> None:
    broker = Broker(frozen_seconds=16.0)
    item = gather_input(broker)
    assert broker.looks == 2
    taken = [[message.timestamp()[1] for message in stream] for stream in item.ready(99)]
    assert taken == [[1, 100, 200, 300], [*range(1, 10)]]
    assert item.is_read, "the prices waited"


def test_a_task_has_caught_up_only_after_it_has_looked_up_the_ends() -> None:
    broker = Broker(frozen_seconds=0.0)
    broker._reads, broker._ends = [((1,), (1,)), ((), ()), ((), ())], [(1, 1), (2, 1)]
    gathering, item = open_reader(broker, sends=("next",))
    gathering.gather(0.1, left_records=False)
    assert len(item.ready(99)) == 2
    assert has_caught_up(item)
    broker.now += 16.0
    gathering.gather(0.0, left_records=False)
    assert broker.looks == 2
    assert not has_caught_up(item), "a record had come that it did not know"


def has_caught_up(item: TaskInput) -> bool:
    """Return `is_caught_up`. A function, because mypy would narrow the property after the first assertion."""
    return item.is_caught_up


def test_a_reader_that_was_not_frozen_looks_up_the_ends_once() -> None:
    broker = Broker(frozen_seconds=0.01)
    gather_input(broker)
    assert broker.looks == 1
