"""If a state row can't be decoded, the task stops. No record or timer goes to .errors for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.processor import Context, Timer
from forebay.processor.batch import Position
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import StateUnreadable
from tests.runtime.task_records import CODECS, JsonCodec, Record, Sum, Total

GOOD, RUBBISH = b"[1, 1]", b"rubbish"
ROW = b"totals\0a"


class Reading(Sum):
    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        ctx.forward(self.totals.get(ctx.key) or Total(0, 0))


class Refused(Exception):
    """The error of a registry that denies access. It is not an Unavailable."""


class Locked(JsonCodec):
    def decode(self, data: bytes) -> Any:
        raise Refused("wrong password")


def engine(table: MemoryTable, codec: JsonCodec | None = None) -> TaskEngine:
    codecs = replace(CODECS, stores={"totals": codec or JsonCodec(Total)})
    task_engine = TaskEngine(Reading(), codecs, table, EngineSettings(service="sums"))
    task_engine.load(Position(100, 100))
    return task_engine


def table(row: bytes) -> MemoryTable:
    """Return the table of a task with one row and its timer, which is due at 1,110."""
    memory_table = MemoryTable()
    first = TaskEngine(Sum(), CODECS, memory_table, EngineSettings(service="sums"))
    first.run([[Record(0, b"a", b'["e1", 110, 1]')]], clock=1_000)
    memory_table.apply(first.finish(1).changes, b"1")
    memory_table.apply([(ROW, row)], b"2")
    return memory_table


@pytest.mark.parametrize(
    ("row", "codec", "remedy"),
    [
        (RUBBISH, None, "forebay restore"),
        (GOOD, Locked(Total), "Refused: wrong password; the job continues by itself"),
    ],
)
def test_the_batch_stops_and_no_record_is_blamed(row: bytes, codec: JsonCodec | None, remedy: str) -> None:
    task = engine(table(row), codec)
    with pytest.raises(StateUnreadable, match=r"store totals, key b'a': the row can't be read") as caught:
        task.run([[Record(1, b"a", b'["e2", 120, 1]')]], clock=1_000)
    assert remedy in str(caught.value)
    assert isinstance(caught.value, Unavailable)


def test_a_timer_that_reads_an_unreadable_row_fires_again() -> None:
    held = table(RUBBISH)
    task = engine(held)
    with pytest.raises(StateUnreadable):
        task.tick(10_000, clock=1_000)
    held.apply([(ROW, GOOD)], b"3")
    task.load(Position(100, 100))
    task.run([[]], clock=1_000)
    task.tick(10_000, clock=1_000)
    assert len(task.finish(2).outputs) == 1
