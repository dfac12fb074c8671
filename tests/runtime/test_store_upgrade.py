"""A store is converted in one commit, exactly once despite failures, and only if the operator has requested it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.processor import Context, Processor
from forebay.runtime.errors import StoreChanged
from forebay.stores import KeyValueStore, VersionedKeyValueStore
from forebay.stores.kinds import PREFIX, OnChange
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import Number, Total

KIND = PREFIX + b"totals"
UNFIT = 7
"""An amount for which the versioned release puts a value that does not fit the contract."""
VERSIONED_TEXT = b"versioned history_retention_ms=1000"
CONVERTED = "store totals: key-value -> versioned history_retention_ms=1000: 2 rows read, 2 written or kept, 0 dropped"


class Plain(Processor[Number, Total]):
    """Stores the last amount of a key. An amount of 0 forwards the stored one."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            self.totals.put(ctx.key, Total(event.amount, 1))
        else:
            ctx.forward(self.totals.get(ctx.key) or Total(0, 0))


class Versioned(Processor[Number, Total]):
    """Like Plain, but an amount of 0 forwards the version as of its timestamp."""

    totals = VersionedKeyValueStore("totals", Total, history_retention_ms=1_000)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            amount: Any = 0.5 if event.amount == UNFIT else event.amount
            self.totals.put(ctx.key, Total(amount, 1), event.timestamp)
        else:
            version = self.totals.get(ctx.key, event.timestamp)
            ctx.forward(version.value if version else Total(0, 0))


def plain_job(*, has_snapshot: bool = True) -> GroupBench:
    bench = GroupBench(Plain)
    bench.feed(("a", 10, 1), ("b", 20, 2))
    bench.run()
    if has_snapshot:
        bench.end_lease()
    return bench


def release(bench: GroupBench, on_change: OnChange) -> None:
    """Continue in a new process with the store declared versioned."""
    bench.group.abandon()
    bench.processor = Versioned
    bench.engine = dataclasses.replace(bench.engine, on_change=on_change)
    bench.worker()


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_changed_declaration_stops_the_job_and_changes_nothing(has_snapshot: bool) -> None:
    bench = plain_job(has_snapshot=has_snapshot)
    before = len(bench.positions())
    release(bench, OnChange.REFUSE)
    bench.feed(("a", 30, 3))
    with pytest.raises(StoreChanged, match=r"app-0-0: store totals .* `forebay store upgrade sums`"):
        bench.run()
    assert len(bench.positions()) == before


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_the_commit_that_converts_processes_what_waits_on_the_converted_rows(has_snapshot: bool) -> None:
    bench = plain_job(has_snapshot=has_snapshot)
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 500, 5), ("a", 400, 0), ("a", 600, 0), ("b", 19, 0))
    bench.run()
    assert bench.task.figures.conversions == [CONVERTED]
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(5, 1)), ("b", Total(0, 0))]
    rows = bench.rows()
    assert rows[KIND] == VERSIONED_TEXT
    assert b"totals\0a" not in rows
    assert b"totals\0b" not in rows


def test_a_commit_without_records_converts_too_and_there_is_nothing_to_do_after_it() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    assert bench.run() == 1
    release(bench, OnChange.CONVERT)
    assert bench.run() == 0
    release(bench, OnChange.REFUSE)
    bench.feed(("b", 700, 0))
    bench.run()
    assert bench.outputs() == [("b", Total(2, 1))]


@pytest.mark.parametrize("point", ["commit.produce", "commit.before", "commit.after"])
def test_a_failure_around_the_commit_gives_the_same_rows_and_outputs_once(point: str) -> None:
    straight, failed = plain_job(), plain_job()
    for bench in (straight, failed):
        release(bench, OnChange.CONVERT)
        bench.feed(("a", 500, 5), ("a", 400, 0))
    with pytest.raises(Unavailable):
        failed.fail(point)
    release(failed, OnChange.CONVERT)
    for bench in (straight, failed):
        bench.run()
    assert failed.outputs() == straight.outputs() == [("a", Total(1, 1))]
    assert failed.rows() == straight.rows()


def test_after_its_commit_an_ordinary_start_resumes_with_or_without_a_snapshot() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 500, 5))
    with pytest.raises(Unavailable):
        bench.fail("commit.after")
    release(bench, OnChange.REFUSE)
    bench.feed(("a", 600, 0))
    bench.run()
    assert bench.outputs() == [("a", Total(5, 1))]


def test_a_record_whose_value_can_not_be_encoded_undoes_itself_and_not_the_conversion() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 30, UNFIT), ("a", 500, 5), ("a", 400, 0))
    bench.run()
    assert (len(bench.errors()), len(bench.task.figures.conversions)) == (1, 1)
    assert bench.outputs() == [("a", Total(1, 1))]


def test_the_conversion_is_read_back_from_the_snapshot() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.run()
    bench.end_lease()
    rows = bench.rows()
    assert rows[KIND] == VERSIONED_TEXT
    assert sorted(key[:8] for key in rows if key.startswith(b"totals\0")) == [b"totals\0a", b"totals\0b"]
    assert all(len(key) > 8 for key in rows if key.startswith(b"totals\0"))
