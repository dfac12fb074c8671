"""Jobs for the simulator, whose results show lost or duplicated records and stale tables."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from forebay.codec import Codec
from forebay.formats import no_contracts
from forebay.job import Job, Stage, SubTopology
from forebay.operators import Emission, WindowAggregate, WindowResult
from forebay.partitioner import partition_of
from forebay.processor import NO_KEY, AnyProcessor, Context, Processor, Timer
from forebay.processor.bound_stores import declared_stores
from forebay.processor.codecs import Codecs
from forebay.runtime.changelog.topics import repartition_topic
from forebay.stores import KeyValueStore, WindowStore
from forebay.time import TimeWindows

INPUT = "numbers"
FACTORS = "factors"
"""Topic of a global table, which is complete before the job starts."""
FACTOR_PARTITIONS = 3
OTHERS = "others"
"""Topic without records, which is an input in some releases."""
RATES = "rates"
"""Topic of a table that changes while the numbers arrive. It has a partition for each task."""
OUTPUT = "results"
APPLICATION = "app"


@dataclass(frozen=True, slots=True)
class Number:
    timestamp: int
    amount: int


class JsonCodec:
    """Codec of numbers as JSON."""

    def encode(self, record: Number) -> bytes:
        return json.dumps([record.timestamp, record.amount]).encode()

    def decode(self, data: bytes) -> Number:
        return Number(*json.loads(data))


class _Anonymous(Processor[Number, Number]):
    """Processor of records without ids, so that deduplication does not hide a record that is processed twice."""

    def event_id(self, event: Number) -> None:
        return None


class Sum(_Anonymous):
    """Computes running totals by key. Every fifth amount deletes its total. A timer ends keys without new records."""

    totals = KeyValueStore("totals", Number)

    def process(self, event: Number, ctx: Context[Number]) -> None:
        old = self.totals.get(ctx.key) or Number(0, 0)
        new = Number(old.timestamp + 1, old.amount + event.amount)
        if event.amount % 5:
            self.totals.put(ctx.key, new)
        else:
            self.totals.delete(ctx.key)
        ctx.forward(new)
        ctx.schedule("quiet", ctx.timestamp + 40)

    def on_timer(self, timer: Timer, ctx: Context[Number]) -> None:
        ctx.forward(Number(-1, timer.due))


class Watch(_Anonymous):
    """Reads records, and has no state."""

    def process(self, event: Number, ctx: Context[Number]) -> None:
        return


class Spread(_Anonymous):
    """Counts records by key and forwards each under another key."""

    seen = KeyValueStore("seen", Number)

    def process(self, event: Number, ctx: Context[Number]) -> None:
        count = (self.seen.get(ctx.key) or Number(0, 0)).amount + 1
        self.seen.put(ctx.key, Number(ctx.timestamp, count))
        ctx.forward(Number(ctx.timestamp, event.amount), f"g{event.amount % 6}")


class Windows(_Anonymous):
    """Sums by key and window, forwarded once they are final."""

    sums = WindowStore("sums", Number, retention_ms=60, size_ms=20)

    def init(self) -> None:
        self._windows = WindowAggregate(
            self.sums, TimeWindows(20, 20, grace_ms=40), lambda: Number(0, 0), _add, emission=Emission.FINAL
        )

    def process(self, event: Number, ctx: Context[Number]) -> None:
        outcome = self._windows.process(ctx.key, event, ctx.timestamp, ctx.closing_time)
        self._forward(outcome.finals, ctx)
        self._wait(ctx)
        if outcome.refused:
            ctx.late(outcome.late_by_ms)

    def on_timer(self, timer: Timer, ctx: Context[Number]) -> None:
        self._forward(self._windows.close(ctx.closing_time), ctx)
        self._wait(ctx)

    def _wait(self, ctx: Context[Number]) -> None:
        following = self._windows.next_close()
        if following is not None:
            ctx.schedule("close", following, NO_KEY)

    def _forward(self, finals: Iterable[WindowResult[Number]], ctx: Context[Number]) -> None:
        for result in finals:
            assert result.value is not None, "a window's end is not a tombstone"
            ctx.forward(Number(result.window.start, result.value.amount), f"{result.key}@{result.window.start}")


def _add(_key: str, event: Number, total: Number) -> Number:
    return Number(total.timestamp + 1, total.amount + event.amount)


class Collect(_Anonymous):
    """Stores the records, and counts them."""

    store = KeyValueStore("kept", Number)

    def process(self, event: Number, ctx: Context[Number]) -> None:
        times = (self.store.get(ctx.key) or Number(0, 0)).timestamp + 1
        self.store.put(ctx.key, Number(times, event.amount))
        ctx.forward(Number(times, event.amount))


class Priced(_Anonymous):
    """Multiplies amounts by the factor of their group, which every task must know; -1 means an unknown factor."""

    def __init__(self, store: str) -> None:
        self.factors = KeyValueStore(store, Number)

    def process(self, event: Number, ctx: Context[Number]) -> None:
        if ctx.topic == FACTORS:
            self.factors.put(ctx.key, event)
            return
        factor = self.factors.get(f"f{event.amount % 4}")
        ctx.forward(Number(ctx.timestamp, event.amount * (-1 if factor is None else factor.amount)), f"g{ctx.key[-1]}")

    def record_key(self, name: str, key: str) -> None:
        return None


class Regroup(_Anonymous):
    """Forwards each record under the key of its group."""

    def process(self, event: Number, ctx: Context[Number]) -> None:
        ctx.forward(event, f"g{event.amount % 6}")


class Rated(_Anonymous):
    """Joins each record with the rate that its group has at the time, and forwards the time of that rate."""

    rates = KeyValueStore("rates", Number)

    def process(self, event: Number, ctx: Context[Number]) -> None:
        if ctx.topic == RATES:
            self.rates.put(ctx.key, event)
            return
        rate = self.rates.get(ctx.key)
        ctx.forward(Number(-1 if rate is None else rate.timestamp, event.amount))


def _with_rates() -> Job:
    return Job(
        {INPUT: Number, RATES: Number},
        {OUTPUT: Number},
        object,
        lambda _: Regroup(),
        graph=(
            SubTopology("", lambda _: Regroup(), {INPUT: Number}, sends=frozenset({"grouped"})),
            SubTopology("grouped", lambda _: Rated(), {RATES: Number}, {"grouped": Number}, tables=frozenset({RATES})),
        ),
    )


def _with_global_table() -> Job:
    whole = frozenset({FACTORS})
    both = {INPUT: Number, FACTORS: Number}
    return Job(
        both,
        {OUTPUT: Number},
        object,
        lambda _: Priced("factors"),
        graph=(
            SubTopology(
                "", lambda _: Priced("factors"), both, sends=frozenset({"grouped"}), tables=whole, global_tables=whole
            ),
            SubTopology(
                "grouped",
                lambda _: Priced("others"),
                {FACTORS: Number},
                {"grouped": Number},
                tables=whole,
                global_tables=whole,
            ),
        ),
    )


def _maker(kind: type[AnyProcessor]) -> Callable[[object], AnyProcessor]:
    return lambda _: kind()


def _job(first: type[AnyProcessor], *then: tuple[str, type[AnyProcessor]]) -> Job:
    stages = tuple(Stage(name, Number, _maker(kind)) for name, kind in then)
    return Job({INPUT: Number}, {OUTPUT: Number}, object, lambda _: first(), stages)


JOBS = {
    "sum": _job(Sum),
    "windows": _job(Spread, ("grouped", Windows)),
    "global": _with_global_table(),
    "rated": _with_rates(),
    "chain": _job(Spread, ("grouped", Windows), ("closed", Collect)),
    "counts": _job(Collect),
}
"""Jobs by name. Only `counts`, which does not use time, has the same results with any number of tasks."""


def with_another_before(job: Job) -> Job:
    """Return a job with one more sub-topology before the others, which reads a topic without records."""
    before = SubTopology("", lambda _: Watch(), {OTHERS: Number})
    return replace(job, inputs={OTHERS: Number, **job.inputs}, then=(), graph=(before, *job.topology))


def topics(job: Job, partitions: int, tasks: int) -> dict[str, int]:
    """Return the numbers of partitions of all topics of a job except its changelogs."""
    repartitions = {repartition_topic(APPLICATION, name): tasks for part in job.topology for name in part.repartitions}
    repartitions |= dict.fromkeys(external(job) & {FACTORS}, FACTOR_PARTITIONS)
    repartitions |= dict.fromkeys(external(job) & {RATES}, tasks)
    return {INPUT: partitions, OUTPUT: 1, "errors": 1, "late": 1, **repartitions}


def external(job: Job) -> set[str]:
    """Return the external topics that a job reads."""
    return {topic for part in job.topology for topic in part.inputs}


def factors() -> list[tuple[int, bytes, bytes, int]]:
    """Return (partition, key, value, timestamp) of the global table's records; each key changes once."""
    keys = [f"f{number}".encode() for number in (0, 1, 2, 3, 3, 2, 1, 0)]
    return [
        (partition_of(key, FACTOR_PARTITIONS), key, JsonCodec().encode(Number(5_000_000, at + 2)), 5_000_000)
        for at, key in enumerate(keys)
    ]


def codecs(job: Job, topology: SubTopology, processor: AnyProcessor) -> Codecs:
    """Return the codecs of a sub-topology."""
    one = JsonCodec()

    def of_repartition(name: str) -> Codec[Any]:
        kind = job.format_of(name).value
        return one if kind is None else kind.codec(no_contracts)

    handed = {repartition_topic(APPLICATION, name): of_repartition(name) for name in topology.repartitions}
    return Codecs(
        inputs={**dict.fromkeys(topology.inputs, one), **handed},
        stores={store.name: one for _, store in declared_stores(processor)},
        outputs={OUTPUT: one},
        repartitions={name: of_repartition(name) for name in sorted(topology.sends)},
        handed=frozenset(handed),
        tables=topology.tables,
        timeless=topology.global_tables,
    )


Record = tuple[tuple[str, int], bytes, bytes, int]
"""Topic and partition, key, value and timestamp of an input record."""


def records(seed: random.Random, count: int, partitions: int) -> list[Record]:
    """Return a job's input in the order of timestamps."""
    results, time = list[Record](), 1_000
    for _ in range(count):
        time += seed.choice((1, 1, 2, 3, 9))
        key = f"k{seed.randrange(7)}".encode()
        value = JsonCodec().encode(Number(time, seed.randrange(1, 100)))
        results.append(((INPUT, partition_of(key, partitions)), key, value, time))
    return results


def with_rates(seed: random.Random, numbers: list[Record], tasks: int) -> list[Record]:
    """Return a job's input in which most records are followed by a new rate of a group, at the same time or later."""
    results = list[Record]()
    for record in numbers:
        results.append(record)
        if seed.random() < 0.7:
            key, time = f"g{seed.randrange(6)}".encode(), record[3] + seed.choice((0, 0, 1))
            results.append(((RATES, partition_of(key, tasks)), key, JsonCodec().encode(Number(time, 0)), time))
    return sorted(results, key=lambda record: record[3])


def expected_rates(numbers_and_rates: list[Record]) -> dict[bytes, list[bytes]]:
    """Return the expected outputs of the job with rates, by key and time."""
    results: dict[bytes, list[bytes]] = {}
    rates: dict[bytes, int] = {}
    # At equal times the table comes first.
    for (topic, _), key, value, time in sorted(
        numbers_and_rates, key=lambda record: (record[3], record[0][0] == INPUT)
    ):
        number = JsonCodec().decode(value)
        if topic == RATES:
            rates[key] = time
            continue
        group = f"g{number.amount % 6}".encode()
        results.setdefault(group, []).append(JsonCodec().encode(Number(rates.get(group, -1), number.amount)))
    return results
