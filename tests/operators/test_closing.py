"""A task's closing timer fires when its next window closes, and is set again for the one after it."""

from __future__ import annotations

from forebay.operators import Closing
from forebay.processor import Context, IdleClose, Processor, Timer
from forebay.stores import WindowStore
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Total

SIZE = 100


class Ends(Processor[Number, Total]):
    """Windows of 100 ms without grace. Forwards the time at which each one closed.

    After a negative amount, the next timer fails.
    """

    idle = IdleClose(after_ms=50, horizon_ms=SIZE)

    def __init__(self) -> None:
        self.totals = WindowStore("totals", Total, size_ms=SIZE, retention_ms=10 * SIZE)
        self.broken = False

    def init(self) -> None:
        self.closing = Closing(self.totals.marks)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        self.broken = event.amount < 0
        start = event.timestamp // SIZE * SIZE
        self.totals.put(ctx.key, Total(1, 1), start)
        self.closing.watch(ctx, start + SIZE)

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        if self.broken:
            raise RuntimeError("broken")
        open_from = ctx.closing_time - SIZE + 1
        later = next(iter(self.totals.fetch_all(open_from, 1 << 40)), None)
        self.closing.schedule_next(ctx, None if later is None else later.start + SIZE)
        ctx.forward(Total(timer.due, ctx.closing_time), "closed")


def fired_at(driver: TestDriver) -> list[int]:
    return [output.value.amount for output in driver.outputs]


def test_the_closing_timer_fires_at_the_next_end_and_is_set_again() -> None:
    driver = TestDriver(Ends(), CODECS)
    for timestamp in (250, 350, 460):
        driver.pipe(f"k{timestamp}", Number(f"{timestamp}", timestamp, 1))
    assert fired_at(driver) == [300, 400]
    assert driver.timers() == 1


def test_the_closing_timer_fires_on_an_idle_topic() -> None:
    driver = TestDriver(Ends(), CODECS)
    driver.pipe("k", Number("e", 120, 1))
    assert driver.advance_wall_time(49) == []
    driver.advance_wall_time(1)
    assert fired_at(driver) == [200]
    assert driver.timers() == 0


def test_the_closing_timer_is_set_again_after_a_failure() -> None:
    driver = TestDriver(Ends(), CODECS)
    driver.pipe("k", Number("e", 120, -1))
    driver.pipe("k", Number("f", 230, 1))
    assert len(driver.errors) == 1
    driver.pipe("k", Number("g", 330, 1))
    assert fired_at(driver) == [300]
