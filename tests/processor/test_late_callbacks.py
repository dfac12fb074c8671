"""If any callback of a processor raises LateRecord, its changes are undone and the record goes to .late."""

from __future__ import annotations

import pytest

from forebay.processor import Context, LateRecord, Processor
from forebay.processor.api import Timer
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Sum, Total


class Late(Sum):
    """Raises LateRecord in one of its callbacks after it has forwarded a value."""

    wall_clock_interval_ms = 10

    def __init__(self, raises_in: str) -> None:
        self.raises_in = raises_in

    def process(self, event: Number, ctx: Context[Total]) -> None:
        ctx.schedule("due", event.timestamp + 5)
        self._end("process", ctx)

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        self._end("on_timer", ctx)

    def on_wall_clock(self, now: int, ctx: Context[Total]) -> None:
        self._end("on_wall_clock", ctx)

    def _end(self, callback: str, ctx: Context[Total]) -> None:
        if callback == self.raises_in:
            ctx.forward(Total(1, 1))
            raise LateRecord(7)


def driver_of(processor: Processor[Number, Total]) -> TestDriver:
    return TestDriver(processor, CODECS, service="sums")


@pytest.mark.parametrize(
    ("callback", "key"), [("process", b"a"), ("on_timer", b"a"), ("on_wall_clock", None), ("nothing", None)]
)
def test_a_late_record_error_in_any_callback_is_reported_as_late(callback: str, key: bytes | None) -> None:
    driver = driver_of(Late(callback))
    driver.pipe("a", Number("e1", 50, 1))
    driver.advance_wall_time(10)
    assert driver.errors == []
    assert driver.outputs == []
    late = {(record.key, record.headers["late.by_ms"]) for record in driver.late}
    assert late == (set() if callback == "nothing" else {(key, "7")})


def test_the_next_record_is_not_late() -> None:
    driver = driver_of(Late("on_timer"))
    driver.pipe("a", Number("e1", 50, 1))
    driver.pipe("b", Number("e2", 1_000, 1))
    assert [record.key for record in driver.late] == [b"a"]
    assert driver.errors == []
