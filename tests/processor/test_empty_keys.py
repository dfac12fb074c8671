"""An empty key is a key like any other, and not that of the whole task."""

from __future__ import annotations

import pytest

from forebay.processor import NO_KEY, Context, Processor, Timer
from forebay.processor.codecs import Codecs
from forebay.processor.timers import Timers
from forebay.stores.internal import TIMERS, timer_of, timer_row
from forebay.stores.memory import MemoryTable
from forebay.testing import TestDriver
from tests.runtime.task_records import TOPIC, JsonCodec, Number, Total


@pytest.mark.parametrize("key", [None, "", "\0", "a", "a\0", "\xff"])
@pytest.mark.parametrize("name", ["close", ""])
def test_the_row_of_a_timer_has_its_name_and_key(name: str, key: str | None) -> None:
    assert timer_of(timer_row(name, key)) == (name, key)


def test_rows_of_timers_without_a_key_have_the_format_of_earlier_releases() -> None:
    assert timer_row("close", None) == TIMERS + b"close\0"
    assert timer_row("close", "k") == TIMERS + b"close\0k"


def test_timers_of_the_empty_key_and_of_the_task_are_different() -> None:
    table, timers = MemoryTable(), Timers()
    for due, key in ((5, ""), (5, None), (5, "a"), (7, "")):
        timers.schedule("x", key, due)
    timers.cancel("x", "a")
    table.apply(sorted(timers.changes()), b"t")
    loaded = Timers()
    loaded.load(table)
    for of_task in (timers, loaded):
        assert [of_task.pop_due(10) for _ in range(3)] == [Timer(5, "x", None), Timer(7, "x", ""), None]


class Reminder(Processor[Number, Total]):
    """Sets a timer of the record's key and one of the whole task, and forwards when they fire."""

    wall_clock_interval_ms = 1_000

    def event_id(self, event: Number) -> None:
        return None

    def process(self, event: Number, ctx: Context[Total]) -> None:
        ctx.schedule("own", event.timestamp + 10)
        ctx.schedule("task", event.timestamp + 10, NO_KEY)
        ctx.schedule("none", event.timestamp + 10)
        ctx.cancel("none")

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        assert ctx.key == timer.key
        ctx.forward(Total(timer.due, 0))

    def on_wall_clock(self, now: int, ctx: Context[Total]) -> None:
        assert ctx.key is None


@pytest.mark.parametrize("key", ["", "a"])
def test_a_timer_s_output_has_the_key_of_its_record(key: str) -> None:
    driver = TestDriver(Reminder(), Codecs({TOPIC: JsonCodec(Number)}, {}, {"o": JsonCodec(Total)}))
    driver.pipe(key, Number("e", 100, 0))
    driver.advance_wall_time(1_000)
    assert [(output.key, output.value.amount) for output in driver.outputs] == [(key, 110), (None, 110)]
    assert not driver.errors


def test_a_timer_that_an_earlier_release_stored_without_a_key_belongs_to_the_whole_task() -> None:
    table, timers = MemoryTable(), Timers()
    table.apply([(TIMERS + b"close\0", (5).to_bytes(8, "big"))], b"t")
    timers.load(table)
    assert timers.pop_due(5) == Timer(5, "close", None)
    assert list(timers.changes()) == [(TIMERS + b"close\0", None)]
