"""Processors can use every store type: it is bound, rolled back after failures, and restored."""

from __future__ import annotations

from forebay.processor import Context, Processor
from forebay.stores.ttl import TtlKeyValueStore
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Total


class Recent(Processor[Number, Total]):
    """Totals that expire 100 ms after their last change. The amount 13 fails after its put."""

    totals = TtlKeyValueStore("totals", Total, ttl_ms=100)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        old = self.totals.get(ctx.key) or Total(0, 0)
        new = Total(old.amount + event.amount, old.count + 1)
        self.totals.put(ctx.key, new)
        if event.amount == 13:
            raise ValueError("unlucky")
        ctx.forward(new)


def test_an_entry_expires_after_its_time_to_live_in_stream_time() -> None:
    driver = TestDriver(Recent(), CODECS)
    driver.pipe("a", Number("e1", 0, 1))
    assert driver.pipe("a", Number("e2", 99, 1))[0].value == Total(2, 2)
    driver.restart()
    assert driver.pipe("a", Number("e3", 198, 1))[0].value == Total(3, 3)
    assert driver.pipe("a", Number("e4", 298, 1))[0].value == Total(1, 1)


def test_expired_rows_are_deleted_from_the_table() -> None:
    driver = TestDriver(Recent(), CODECS)
    for number in range(20):
        driver.pipe(f"k{number}", Number(f"e{number}", number, 1))
    driver.pipe("last", Number("late", 10_000, 1))
    assert [key for key, _ in driver.sub_topologies[0].tables[0].scan(b"totals\0", b"totals\1")] == [b"totals\0last"]


def test_a_failing_record_undoes_what_it_put_in_any_kind_of_store() -> None:
    driver = TestDriver(Recent(), CODECS)
    driver.pipe("a", Number("e1", 0, 1))
    driver.pipe("a", Number("e2", 10, 13))
    assert driver.pipe("a", Number("e3", 20, 1))[0].value == Total(2, 2)
    assert len(driver.errors) == 1
