"""A task stops before a commit in which too many records failed. A few failures never stop it."""

from __future__ import annotations

import pytest

from forebay.processor import Context
from forebay.runtime.errors import TooManyErrors
from forebay.runtime.protocol.errorcount import FEWEST, WINDOW
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import Number, Sum, Total

GOOD, BAD = 1, -1


class Limited(GroupBench):
    """A task that stops when more than a tenth of its records fail."""

    def __init__(self) -> None:
        super().__init__()
        self.limit(max_error_rate=0.1)
        self._count = 0

    def records(self, count: int, amount: int) -> None:
        self.feed(*(("k", self._count + number, amount) for number in range(count)))
        self._count += count


def test_a_key_that_always_fails_does_not_stop_the_others() -> None:
    bench = Limited()
    for _ in range(20):
        bench.records(190, GOOD)
        bench.records(10, BAD)
        bench.run()
    assert len(bench.errors()) == 200
    assert bench.totals()["k"].count == 3_800


def test_a_commit_that_would_exceed_the_error_limit_fails_with_its_reason() -> None:
    bench = Limited()
    bench.records(1_000, GOOD)
    bench.run()
    bench.records(FEWEST - 1, BAD)
    bench.run()
    bench.records(200, BAD)
    commits = len(bench.positions())
    with pytest.raises(TooManyErrors) as stopped:
        bench.run()
    assert len(bench.positions()) == commits
    text = str(stopped.value)
    assert f"app-0-0: {200 + 90} of the latest {1_000 + 200} records failed" in text
    assert f"numbers-0 offset {1_000 + FEWEST - 1}, key 'k': ValueError: negative amount (process)" in text
    assert "--max-error-rate 0.1" in text


def test_a_restart_with_repaired_code_processes_the_records_again() -> None:
    bench = Limited()
    bench.records(500, BAD)
    with pytest.raises(TooManyErrors):
        bench.run()

    class Repaired(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            super().process(Number(event.event_id, event.timestamp, abs(event.amount)), ctx)

    bench.processor = Repaired
    bench.worker()
    bench.run()
    assert bench.errors() == []
    assert bench.totals()["k"] == Total(500, 500)


@pytest.mark.long
def test_many_small_commits_count_together_across_restarts() -> None:
    bench = Limited()
    for _ in range(FEWEST - 1):
        bench.records(1, BAD)
        bench.run()
        bench.worker()
    bench.records(1, BAD)
    with pytest.raises(TooManyErrors, match=f"{FEWEST} of the latest {FEWEST} records"):
        bench.run()


def test_a_limit_of_0_stops_at_the_first_failure_before_its_commit() -> None:
    bench = Limited()
    bench.limit(max_error_rate=0.0)
    bench.records(50, GOOD)
    bench.run()
    commits = len(bench.positions())
    bench.records(10, GOOD)
    bench.records(1, BAD)
    with pytest.raises(TooManyErrors, match="1 of the latest 61 records failed, more than --max-error-rate 0 allows"):
        bench.run()
    assert (len(bench.positions()), bench.errors()) == (commits, [])
    bench.limit(max_error_rate=1.0)
    bench.run()
    assert len(bench.errors()) == 1
    assert bench.totals()["k"].count == 60


def test_a_limit_above_0_does_not_stop_at_a_few_failures_alone() -> None:
    bench = Limited()
    bench.limit(max_error_rate=0.001)
    bench.records(FEWEST - 1, BAD)
    bench.run()
    assert len(bench.errors()) == FEWEST - 1


@pytest.mark.long
def test_failures_of_long_ago_do_not_count_for_ever() -> None:
    bench = Limited()
    bench.limit(max_error_rate=1.0)
    bench.records(WINDOW, BAD)
    bench.run()
    bench.records(20 * WINDOW, GOOD)
    bench.run()
    bench.limit(max_error_rate=0.1)
    bench.records(FEWEST - 60, BAD)
    bench.run()
    assert bench.positions()[-1].recent.records == WINDOW
