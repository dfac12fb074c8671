"""If a timer puts a value that can't be encoded, this is reported as for a record, and the task continues."""

from __future__ import annotations

from forebay.processor import Context, Timer
from forebay.testing import TestDriver
from tests.processor.batches import Batches, sent
from tests.runtime.task_records import CODECS, Number, Sum, Total


class Spoiling(Sum):
    """Sums whose timer for the key "bad" puts a float, which the codec rejects."""

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        amount = 0.5 if timer.key == "bad" else 99
        self.totals.put(timer.key, Total(amount, 0))  # type: ignore[arg-type]
        ctx.forward(Total(99, 0))

    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if event.amount == 13:
            self.totals.put(ctx.key, Total(0.5, 0))  # type: ignore[arg-type]


def test_in_a_job_the_timers_failure_is_reported_and_the_others_fire() -> None:
    task = Batches(Spoiling())
    task.run(sent("bad", Number("e1", 10, 1)), sent("good", Number("e2", 11, 2)))
    (error,) = task.run(idle_ms=5_000).errors
    headers = dict(error.headers)
    assert (error.key, headers["error.timer"], headers["error.stage"]) == (b"bad", b"idle", b"encode")
    assert task.totals() == {"bad": Total(1, 1), "good": Total(99, 0)}


def test_in_a_job_a_timer_that_fires_before_a_record_is_found_too() -> None:
    task = Batches(Spoiling())
    result = task.run(sent("bad", Number("e1", 10, 1)), sent("good", Number("e2", 5_000, 2)))
    assert len(result.errors) == 1
    assert task.totals() == {"bad": Total(1, 1), "good": Total(2, 1)}


def test_the_test_driver_behaves_like_a_job() -> None:
    sums = TestDriver(Spoiling(), CODECS, service="sums")
    sums.pipe("a", Number("e1", 10, 13))
    sums.pipe("bad", Number("e2", 10, 1))
    sums.advance_wall_time(5_000)
    assert [error.key for error in sums.errors] == [b"a", b"bad"]
    assert sums.store("totals") == {"bad": Total(1, 1)}
