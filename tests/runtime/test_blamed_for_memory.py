"""If memory runs out, smaller commits are retried. Only a record, timer or punctuation alone in its commit fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.processor import Context, Timer
from forebay.processor.codecs import Codecs
from forebay.testing import TestDriver
from tests.runtime import task_records
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import CODECS, JsonCodec, Number, Sum, Total

POISON = 13


def hungry(event: Number) -> None:
    if event.amount == POISON:
        raise MemoryError


class Process(Sum):
    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        hungry(event)


class EventTime(Sum):
    def timestamp(self, event: Number) -> int:
        hungry(event)
        return event.timestamp


class EventId(Sum):
    def event_id(self, event: Number) -> str | None:
        hungry(event)
        return event.event_id


class Exiting(Sum):
    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if event.amount == POISON:
            raise SystemExit(1)


class Codec(JsonCodec):
    """Runs out of memory in one method for one amount."""

    def __init__(self, kind: type[Any], method: str, amount: int) -> None:
        super().__init__(kind)
        self._method, self._amount = method, amount

    def encode(self, record: Any) -> bytes:
        if self._method == "encode" and record.amount == self._amount:
            raise MemoryError
        return super().encode(record)

    def decode(self, data: bytes) -> Any:
        decoded = super().decode(data)
        if self._method == "decode" and decoded.amount == self._amount:
            raise MemoryError
        return decoded


class Broken(JsonCodec):
    def decode(self, data: bytes) -> Any:
        decoded = super().decode(data)
        if decoded.amount == POISON:
            raise OverflowError("no codec should raise this")
        return decoded


CASES: dict[str, tuple[type[Sum], Codecs]] = {
    "logic": (Process, CODECS),
    "event time": (EventTime, CODECS),
    "event id": (EventId, CODECS),
    "an exit": (Exiting, CODECS),
    "decoding": (Sum, replace(CODECS, inputs={task_records.TOPIC: Codec(Number, "decode", POISON)})),
    "a decoder that raises another error": (Sum, replace(CODECS, inputs={task_records.TOPIC: Broken(Number)})),
    "encoding an output": (Sum, replace(CODECS, outputs={task_records.OUTPUT: Codec(Total, "encode", POISON)})),
    "encoding a row": (Sum, replace(CODECS, stores={"totals": Codec(Total, "encode", POISON)})),
}


def settle(bench: GroupBench) -> int:
    """Commit all records, rolling back as the loop does if memory runs out. Return how often it ran out."""
    failures = 0
    while True:
        try:
            bench.run()
            return failures
        except MemoryError:
            failures += 1
            assert failures < 6, "it is retried without end"
            bench.group.abandon()
            bench.group._pacing.halve()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("place", [0, 7, 39])
def test_only_the_record_that_exhausts_memory_goes_to_errors(
    case: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor, changed = CASES[case]
    monkeypatch.setattr("tests.runtime.group_bench.CODECS", changed)
    bench = GroupBench(processor)
    events = [(f"key-{number}", number, POISON if number == place else 1) for number in range(40)]
    bench.feed(*events)
    assert settle(bench) <= 5
    (error,) = bench.errors()
    assert dict(error.headers_ or [])["error.offset"] == str(place).encode()
    assert [key for key, _ in bench.outputs()] == [key for key, _, amount in events if amount == 1]
    monkeypatch.setattr("tests.runtime.group_bench.CODECS", CODECS)
    assert bench.totals() == {key: Total(1, 1) for key, _, amount in events if amount == 1}


class Fires(Sum):
    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        if ctx.key == "poison":
            raise MemoryError
        super().on_timer(timer, ctx)


@pytest.mark.parametrize("how", ["a record", "idle time"])
def test_a_timer_is_blamed_as_a_record_is(how: str) -> None:
    bench = GroupBench(Fires)
    bench.feed(("a", 1, 1), ("poison", 2, 1), ("b", 3, 1))
    settle(bench)
    if how == "a record":
        bench.feed(*((f"later-{number}", 5_000 + number, 1) for number in range(5)))
        settle(bench)
    else:
        bench.wait(10)
        settle(bench)
    (error,) = bench.errors()
    assert dict(error.headers_ or [])["error.timer"] == b"idle"
    fired = [key for key, total in bench.outputs() if total.count == -1]
    assert fired == ["a", "b"]


class Punctuates(Sum):
    wall_clock_interval_ms = 1_000

    def on_wall_clock(self, now: int, ctx: Context[Total]) -> None:
        raise MemoryError


def test_a_punctuation_is_blamed_as_a_record_is() -> None:
    bench = GroupBench(Punctuates)
    bench.feed(("a", 1, 1))
    settle(bench)
    bench.wait(5)
    bench.feed(("a", 2, 1), ("a", 3, 1))
    settle(bench)
    assert [total.amount for _, total in bench.outputs()] == [1, 2, 3]
    assert {dict(error.headers_ or [])["error.timer"] for error in bench.errors()} == {b"wall clock"}


def test_the_test_driver_also_sends_such_a_record_to_errors() -> None:
    sums = TestDriver(Process(), CODECS, service="sums")
    assert sums.pipe("a", Number("e1", 1, POISON)) == []
    (error,) = sums.errors
    assert error.headers["error.class"] == "MemoryError"
    assert len(sums.pipe("a", Number("e2", 2, 1))) == 1
