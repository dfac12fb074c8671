"""Rule 8: what one stage's tasks hand to the next inside a batch, and what a replay of it gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from forebay.codec import Unavailable
from forebay.partitioner import Partitioner, partition_of
from forebay.processor import Context, Processor
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine
from forebay.processor.handover import by_task
from forebay.processor.messages import Output
from forebay.runtime.batch import TaskBatch
from forebay.runtime.handover import HandedInput, Handover, decode_block, encode_block, hand_over, taken_over
from forebay.runtime.task import StateTask, TaskSettings
from forebay.stores import KeyValueStore
from forebay.stores.table import MemoryTable
from tests.runtime.task_harness import (
    OUTPUT,
    TOPIC,
    FakeInput,
    FakeKafka,
    FakeSink,
    FakeState,
    JsonCodec,
    Number,
    Range,
    Total,
)

TASKS = 3
PARITY = Codecs({TOPIC: JsonCodec(Number)}, {}, {"out": OUTPUT}, onward={"sums": JsonCodec(Number)})
SUMS = Codecs({"sums": JsonCodec(Number)}, {"totals": JsonCodec(Total)}, {"out": OUTPUT})


class Parity(Processor[Number, Number]):
    """Hands each number on under 'odd' or 'even'."""

    def process(self, event: Number, ctx: Context[Number]) -> None:
        ctx.forward(event, "odd" if event.amount % 2 else "even")


class Sums(Processor[Number, Total]):
    totals = KeyValueStore("totals", Total)

    def event_id(self, event: Number) -> None:
        return None

    def process(self, event: Number, ctx: Context[Total]) -> None:
        total = self.totals.get(ctx.key) or Total(0, 0)
        total = Total(total.amount + event.amount, total.count + 1)
        self.totals.put(ctx.key, total)
        ctx.forward(total)


class Place:
    """What outlives a process of one task: its broker's side and Spark's state."""

    def __init__(self) -> None:
        self.kafka, self.state = FakeKafka(), FakeState()


class Chain:
    """Two stages of TASKS tasks each; `run` is one batch as Spark runs it."""

    def __init__(self) -> None:
        self.records = FakeInput()
        self.places = {(stage, task): Place() for stage in range(2) for task in range(TASKS)}
        self.batch, self.ends = 0, [0] * TASKS
        self.start_processes()

    def start_processes(self) -> None:
        self.handed = {task: HandedInput("sums") for task in range(TASKS)}
        self.sinks = {ident: FakeSink(place.kafka) for ident, place in self.places.items()}
        self.tasks = {ident: self._task(*ident) for ident in self.places}

    def _task(self, stage: int, task: int) -> StateTask:
        table, source = MemoryTable(), self.handed[task] if stage else self.records
        processor = Sums() if stage else Parity()
        engine = TaskEngine(processor, SUMS if stage else PARITY, table, EngineSettings(service="sums"))
        settings = TaskSettings(f"sums-{stage}-{task}", "v1", stage)
        kafka = self.places[stage, task].kafka
        partitioner = None if stage else Partitioner(TASKS)
        return StateTask(engine, table, source, self.sinks[stage, task], kafka, settings, partitioner)

    def feed(self, amounts: Sequence[int]) -> None:
        for amount in amounts:
            task = amount % TASKS
            count = len(self.records.partitions.get(task, []))
            self.records.add(f"k{amount}", Number(f"{task}/{count}", 1_000 + amount, amount), task)

    def plan(self) -> list[TaskBatch]:
        self.batch += 1
        ends = [len(self.records.partitions.get(task, [])) for task in range(TASKS)]
        batches = [
            TaskBatch("job", task, self.batch, 5_000, 0, (Range(TOPIC, task, self.ends[task], ends[task]),))
            for task in range(TASKS)
        ]
        self.ends = ends
        return batches

    def attempt(self, batches: list[TaskBatch]) -> None:
        for place in self.places.values():
            place.state.begin()
        rows: list[Handover] = []
        for batch in batches:
            task = self.tasks[0, batch.task]
            report = task.run(batch, self.places[0, batch.task].state)
            rows += hand_over(batch, task.onward, [report.to_json()])
        for number in range(TASKS):
            mine = [row for row in rows if row.task == number]
            later = taken_over(mine, TASKS, "sums-1-task")
            self.handed[number].offer(mine)
            self.tasks[1, number].run(later, self.places[1, number].state)

    def run(self, batches: list[TaskBatch]) -> None:
        self.attempt(batches)
        for place in self.places.values():
            place.state.commit()

    def outputs(self) -> list[tuple[str, Total]]:
        return [output for task in range(TASKS) for output in self.places[1, task].kafka.outputs()]


def expected(amounts: Sequence[int]) -> dict[str, Total]:
    groups = {"odd": [a for a in amounts if a % 2], "even": [a for a in amounts if not a % 2]}
    return {key: Total(sum(group), len(group)) for key, group in groups.items() if group}


def test_each_key_meets_its_own_task_and_totals_are_right() -> None:
    chain = Chain()
    chain.feed(range(10))
    chain.run(chain.plan())
    chain.feed(range(10, 25))
    chain.run(chain.plan())
    assert dict(chain.outputs()) == expected(range(25))
    assert len(chain.outputs()) == 25
    for key in ("odd", "even"):
        owner = partition_of(key.encode(), TASKS)
        assert any(key == k for k, _ in chain.places[1, owner].kafka.outputs())


@pytest.mark.parametrize("failing", [(stage, task) for stage in range(2) for task in range(TASKS)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_batch_that_breaks_in_any_task_is_repeated_without_loss_or_repetition(
    failing: tuple[int, int], when: str
) -> None:
    chain = Chain()
    chain.feed(range(10))
    chain.run(chain.plan())
    chain.feed(range(10, 30))
    batches = chain.plan()
    setattr(chain.sinks[failing], f"fail_{when}_commit", True)
    idle = failing[0] == 1 and not any(partition_of(k, TASKS) == failing[1] for k in (b"odd", b"even"))
    if idle:
        chain.attempt(batches)
    else:
        with pytest.raises(Unavailable):
            chain.attempt(batches)
    chain.start_processes()
    chain.run(batches)
    chain.feed(range(30, 40))
    chain.run(chain.plan())
    assert len(chain.outputs()) == 40
    assert dict(chain.outputs()) == expected(range(40))


def test_every_task_of_the_next_stage_gets_exactly_one_row() -> None:
    batch = TaskBatch("job", 1, 7, 99, 5, ())
    onward = [Output(f"k{n}".encode(), b"v%d" % n, n, "sums") for n in range(20)]
    rows = list(hand_over(batch, by_task(onward, Partitioner(4)), ["report"]))
    facts = [(row.source, row.task, row.n, row.clock, row.idle_ms) for row in rows]
    assert facts == [(1, task, 7, 99, 5) for task in range(4)]
    assert [row.reports for row in rows] == [(), ("report",), (), ()]
    got = [record for row in rows for record in decode_block(row.block)]
    assert sorted(got) == sorted((o.key, o.value, o.timestamp) for o in onward)
    for row in rows:
        assert all(partition_of(key, 4) == row.task for key, _, _ in decode_block(row.block))


def row(source: int, n: int = 7, idle_ms: int = 0) -> Handover:
    return Handover(source, "job", 0, n, 99, idle_ms, False, -1, encode_block([]), ())


@pytest.mark.parametrize(
    "rows",
    [[row(0)], [row(0), row(0)], [row(0), row(2)], [row(0), row(1, n=8)], [row(0), row(1), row(2)]],
    ids=["one missing", "one twice", "a stranger", "another batch", "one too many"],
)
def test_a_batch_that_is_not_whole_is_refused(rows: list[Handover]) -> None:
    with pytest.raises(Unavailable, match="one row of each of 2 tasks"):
        taken_over(rows, 2, "marker")


def test_a_later_task_is_as_idle_as_the_least_idle_task_before_it() -> None:
    assert taken_over([row(0, idle_ms=40), row(1, idle_ms=7)], 2, "marker").idle_ms == 7


def test_the_marker_of_a_later_stage_is_the_batchs_number() -> None:
    assert taken_over([row(0), row(1)], 2, "app-1-task").ranges == (Range("app-1-task", 0, 0, 7),)


def test_a_block_keeps_tombstones() -> None:
    data = encode_block([Output(b"k", None, 3, "sums"), Output(b"", b"", 4, "sums")])
    assert decode_block(data) == [(b"k", None, 3), (b"", b"", 4)]
