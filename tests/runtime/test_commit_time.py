"""A commit ends when its processing time exceeds a limit, and this limit does not change any result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.codec import EncodeError
from forebay.processor import Context, Timer
from forebay.runtime.task.turns import PROCESSING_SECONDS
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import CODECS, JsonCodec, Number, Sum, Total

SLOW_SECONDS = 0.03
COUNT = 1_000
UNENCODABLE = 13


class Slow(Sum):
    """Spends simulated time on every record and timer."""

    bench: GroupBench | None = None

    def process(self, event: Number, ctx: Context[Total]) -> None:
        self._take()
        super().process(event, ctx)
        ctx.schedule("idle", event.timestamp + 60_000)

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        self._take()
        super().on_timer(timer, ctx)

    def _take(self) -> None:
        if self.bench is not None:
            self.bench.wait(SLOW_SECONDS)


def run(bench: GroupBench) -> list[float]:
    """Run until no records or timers are left. Return the duration of each commit in seconds."""
    if not bench.group.is_open:
        bench.group.open(bench.lease)
    took, begun = [], bench.monotonic()
    while bench.group.cycle(bench.lease, 0.1):
        took.append(bench.monotonic() - begun)
        begun = bench.monotonic()
    return took


def new_bench(partitions: int) -> GroupBench:
    """Return a task whose partitions have records with interleaved timestamps, some of them undecodable."""
    bench = GroupBench(Slow, partitions=partitions)
    for number in range(COUNT):
        key, partition = f"key-{number % 50}", number % partitions
        if number % 97 == 0:
            bench.broker.append((("numbers", partition)), key.encode(), b"rubbish", number * 100)
        bench.add(key, Number(f"e{number}", number * 100 - number % 7 * 30, number % 11), partition)
    return bench


def seen(bench: GroupBench) -> tuple[Any, ...]:
    position = bench.positions()[-1]
    errors = [record.value_ for record in bench.errors()]
    return bench.outputs(), errors, bench.totals(), position.stream_time, position.closing_time


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_slow_records_are_committed_in_time_and_in_their_order(
    partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = new_bench(partitions)
    assert len(run(fast)) == 1
    slow = new_bench(partitions)
    monkeypatch.setattr(Slow, "bench", slow)
    took = run(slow)
    assert len(took) >= COUNT * SLOW_SECONDS / PROCESSING_SECONDS
    assert max(took) < PROCESSING_SECONDS + 3
    monkeypatch.setattr(Slow, "bench", None)
    assert seen(slow) == seen(fast)


def test_a_record_that_takes_longer_than_a_commit_is_committed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = GroupBench(Slow)
    monkeypatch.setattr(Slow, "bench", bench)
    monkeypatch.setattr("tests.runtime.test_commit_time.SLOW_SECONDS", PROCESSING_SECONDS + 1)
    bench.feed(*((f"key-{number}", number, 1) for number in range(5)))
    assert len(run(bench)) == 5


@pytest.mark.parametrize("how", ["a record", "idle time"])
def test_slow_timers_are_committed_in_time(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bench_of() -> GroupBench:
        bench = GroupBench(Slow)
        bench.feed(*((f"key-{number}", number, 1) for number in range(COUNT)))
        run(bench)
        if how == "a record":
            bench.feed(("late", 100_000, 1), ("later", 100_001, 1))
        else:
            bench.wait(60)
        return bench

    fast = bench_of()
    run(fast)
    slow = bench_of()
    monkeypatch.setattr(Slow, "bench", slow)
    took = run(slow)
    assert len(took) >= COUNT * SLOW_SECONDS / PROCESSING_SECONDS
    assert max(took) < PROCESSING_SECONDS + 3
    monkeypatch.setattr(Slow, "bench", None)
    assert seen(slow)[:3] == seen(fast)[:3]
    assert sum(total.count == -1 for _, total in slow.outputs()) == COUNT


def test_timers_that_make_a_commit_too_large_fire_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this limit, the final results of many windows at once would exhaust the memory at every retry."""
    monkeypatch.setattr("forebay.processor.steps._MOST_FIRED_OUTPUTS", 99)
    bench = GroupBench(Slow)
    bench.feed(*((f"key-{number}", number, 1) for number in range(COUNT)))
    run(bench)
    bench.wait(70)
    assert len(run(bench)) == COUNT / 100
    assert sum(total.count == -1 for _, total in bench.outputs()) == COUNT


class Unencodable(JsonCodec):
    """A codec that encodes rows at the end of a commit and rejects one of them."""

    is_frozen = True

    def encode(self, record: Total) -> bytes:
        if record.amount == UNENCODABLE:
            raise EncodeError("this total does not fit")
        return super().encode(record)


@pytest.mark.long
def test_a_row_that_cannot_be_encoded_does_not_make_commits_of_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.runtime.group_bench.CODECS", replace(CODECS, stores={"totals": Unencodable(Total)}))
    bench = GroupBench(Slow)
    monkeypatch.setattr(Slow, "bench", bench)
    bench.feed(*((f"key-{n}", n, UNENCODABLE if n == 100 else 1) for n in range(COUNT)))
    took = run(bench)
    # The records of the commit that contains this row are processed twice.
    assert len(took) <= COUNT * SLOW_SECONDS / PROCESSING_SECONDS + 3
    assert max(took) < 2 * PROCESSING_SECONDS + 3
    (error,) = bench.errors()
    assert dict(error.headers_ or [])["error.offset"] == b"100"
    assert len(bench.outputs()) == COUNT - 1
