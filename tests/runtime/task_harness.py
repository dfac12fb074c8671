"""A state task on doubles of Spark's state and of Kafka that can fail where the real ones can."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay.codec import DecodeError, EncodeError, Unavailable
from forebay.processor import AnyProcessor, Context, Processor, Timer
from forebay.processor.engine import BatchResult, Codecs, EngineSettings, TaskEngine
from forebay.processor.messages import Headers, Message
from forebay.runtime.batch import Range, TaskBatch, TaskReport
from forebay.runtime.committed import CommittedPosition, position_of
from forebay.runtime.marker import Marker
from forebay.runtime.task import StateTask, TaskSettings
from forebay.stores import KeyValueStore
from forebay.stores.table import MemoryTable, Table

TOPIC = "numbers"


@dataclass(frozen=True, slots=True)
class Number:
    event_id: str
    timestamp: int
    amount: int


@dataclass(frozen=True, slots=True)
class Total:
    amount: int
    count: int


class Sum(Processor[Number, Total]):
    """Totals by key; a negative amount raises after it put and forwarded; every key has an idle timer."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        old = self.totals.get(ctx.key) or Total(0, 0)
        new = Total(old.amount + event.amount, old.count + 1)
        self.totals.put(ctx.key, new)
        ctx.forward(new)
        ctx.schedule("idle", event.timestamp + 1_000)
        if event.amount < 0:
            raise ValueError("negative amount")

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        total = self.totals.get(ctx.key)
        if total is not None:
            ctx.forward(Total(total.amount, -1))


class JsonCodec:
    """Records as JSON lists."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind

    def encode(self, record: Any) -> bytes:
        values = [getattr(record, name) for name in self._kind.__slots__]
        if any(isinstance(value, float) for value in values):
            raise EncodeError("a float does not fit")
        return json.dumps(values).encode()

    def decode(self, data: bytes) -> Any:
        try:
            return self._kind(*json.loads(data))
        except (ValueError, TypeError) as error:
            raise DecodeError(str(error)) from error


OUTPUT = JsonCodec(Total)
CODECS = Codecs({TOPIC: JsonCodec(Number)}, {"totals": JsonCodec(Total)}, {"totals-out": OUTPUT})


@dataclass(frozen=True, slots=True)
class Record:
    offset_: int
    key_: bytes | None
    value_: bytes | None
    partition_: int = 0

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return [("origin", b"test")]

    def timestamp(self) -> tuple[int, int]:
        return 1, 77


class FakeInput:
    """A topic's partitions as lists."""

    def __init__(self) -> None:
        self.partitions: dict[int, list[Message]] = {}

    def add(self, key: str, event: Number, partition: int = 0) -> None:
        records = self.partitions.setdefault(partition, [])
        records.append(Record(len(records), key.encode(), CODECS.inputs[TOPIC].encode(event), partition))

    def read(self, ranges: Sequence[Range]) -> list[Iterator[Message]]:
        return [iter(self.partitions.get(r.partition, [])[r.start : r.end]) for r in ranges]


@dataclass
class Transaction:
    result: BatchResult
    marker: Marker
    ranges: Sequence[Range] = ()


class FakeKafka:
    """What the broker holds of one task: committed transactions and the marker."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.committed: Marker | None = None

    def restore(self, table: Table) -> CommittedPosition | None:
        """Give what the changelogs say (implements `Changelog`)."""
        table.clear()
        for transaction in self.transactions:
            table.apply(transaction.result.changes, b"")
        last = self.transactions[-1] if self.transactions else None
        return None if last is None else position_of(last.marker, last.ranges)

    def outputs(self) -> list[tuple[str, Total]]:
        return [(o.key.decode(), OUTPUT.decode(o.value or b"")) for t in self.transactions for o in t.result.outputs]


class FakeSink:
    """A worker's producer."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka
        self.fail_before_commit = False
        self.fail_after_commit = False
        self.discarded = 0

    def marker(self, job: str, batch: int, take_over: bool = False) -> Marker | None:
        return self._kafka.committed

    def commit(self, result: BatchResult, ranges: Sequence[Range], marker: Marker) -> None:
        if self.fail_before_commit:
            self.fail_before_commit = False
            raise Unavailable("broker gone")
        self._kafka.transactions.append(Transaction(result, marker, ranges))
        self._kafka.committed = marker
        if self.fail_after_commit:
            self.fail_after_commit = False
            raise Unavailable("answer lost")

    def discard(self) -> None:
        self.discarded += 1


@dataclass
class FakeState:
    """Spark's state of one task: what a batch writes counts only when Spark commits it."""

    committed: dict[Any, bytes] = field(default_factory=dict)
    written: dict[Any, bytes] = field(default_factory=dict)
    reads: int = 0

    def begin(self) -> None:
        self.written = dict(self.committed)

    def commit(self) -> None:
        self.committed = dict(self.written)

    def read_state(self) -> bytes | None:
        return self.written.get("state")

    def write_state(self, data: bytes) -> None:
        self.written["state"] = data

    def get_block(self, number: int) -> bytes:
        self.reads += 1
        return self.written[number]

    def put_block(self, number: int, data: bytes) -> None:
        self.written[number] = data

    def delete_block(self, number: int) -> None:
        del self.written[number]


class Bench:
    """One task, its topic, its broker and its state; `worker()` gives a new process."""

    def __init__(self, processor: type[AnyProcessor] = Sum, job: str = "job-1", **engine: Any) -> None:
        self.input, self.kafka, self.state = FakeInput(), FakeKafka(), FakeState()
        self.processor, self.job, self.code_version = processor, job, "v1"
        self.engine_settings = EngineSettings(service="sums", **engine)
        self.clock = 1_000_000
        self.batch = 0
        self.ends: dict[int, int] = {0: 0}
        self.worker()

    def worker(self) -> StateTask:
        """Go on in a new process: nothing cached."""
        self.table = MemoryTable()
        engine = TaskEngine(self.processor(), CODECS, self.table, self.engine_settings)
        self.sink = FakeSink(self.kafka)
        settings = TaskSettings("sums-0-0", self.code_version)
        self.task = StateTask(engine, self.table, self.input, self.sink, self.kafka, settings)
        return self.task

    def feed(self, *events: tuple[str, int, int]) -> None:
        """Append (key, timestamp, amount) to partition 0."""
        for key, timestamp, amount in events:
            number = len(self.input.partitions.get(0, []))
            self.input.add(key, Number(f"e{number}", timestamp, amount))

    def plan(self, idle_ms: int = 0) -> TaskBatch:
        """Plan the next batch: everything fed so far."""
        self.batch += 1
        ranges = []
        for partition, start in sorted(self.ends.items()):
            end = len(self.input.partitions.get(partition, []))
            ranges.append(Range(TOPIC, partition, start, end))
            self.ends[partition] = end
        return TaskBatch(self.job, 0, self.batch, self.clock, idle_ms, tuple(ranges))

    def run(self, batch: TaskBatch | None = None, idle_ms: int = 0) -> TaskReport:
        """Run a batch through to Spark's state commit."""
        report = self.attempt(batch or self.plan(idle_ms))
        self.state.commit()
        return report

    def attempt(self, batch: TaskBatch) -> TaskReport:
        """Run a batch up to, not including, Spark's state commit."""
        self.state.begin()
        return self.task.run(batch, self.state)

    def totals(self) -> dict[str, Total]:
        """Give the committed totals as a new process would read them."""
        other = Bench(self.processor)
        other.state, other.kafka, other.job = self.state, self.kafka, self.job
        other.batch, other.ends = self.batch + 1_000, dict(self.ends)
        other.input = self.input
        other.worker()
        other.attempt(TaskBatch(self.job, 0, other.batch, self.clock, 0, ()))
        return {
            k.partition(b"\0")[2].decode(): CODECS.stores["totals"].decode(v)
            for k, v in other.table.scan(b"totals\0", b"totals\1")
        }
