"""A task's store is converted within one batch: once, whatever fails, and never without being asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.processor import Context, Processor
from forebay.runtime.errors import ReplayDiffers, StoreChanged
from forebay.stores import KeyValueStore, VersionedKeyValueStore
from forebay.stores.kinds import PREFIX, OnChange
from forebay.stores.table import NO_TAG
from tests.runtime.task_harness import Bench, Number, Total

KIND = PREFIX + b"totals"
UNFIT = 7
"""An amount of which the versioned release makes a value that does not fit the contract."""
VERSIONED_TEXT = b"versioned history_retention_ms=1000"


class Plain(Processor[Number, Total]):
    """Keeps the last amount; answers an amount of nothing with the one kept."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            self.totals.put(ctx.key, Total(event.amount, 1))
        else:
            ctx.forward(self.totals.get(ctx.key) or Total(0, 0))


class Versioned(Processor[Number, Total]):
    """The same as of the question's time."""

    totals = VersionedKeyValueStore("totals", Total, history_retention_ms=1_000)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            amount: Any = 0.5 if event.amount == UNFIT else event.amount
            self.totals.put(ctx.key, Total(amount, 1), event.timestamp)
        else:
            found = self.totals.get(ctx.key, event.timestamp)
            ctx.forward(found.value if found else Total(0, 0))


def plain_job() -> Bench:
    bench = Bench(Plain)
    bench.feed(("a", 10, 1), ("b", 20, 2))
    bench.run()
    return bench


def release(bench: Bench, on_change: OnChange) -> None:
    """Go on in a new process with the store declared versioned."""
    bench.processor, bench.code_version = Versioned, "v2"
    bench.engine_settings = dataclasses.replace(bench.engine_settings, on_change=on_change)
    bench.worker()


def rows(bench: Bench) -> dict[bytes, bytes]:
    """Give the committed table as a new process reads it: the next batch finds nothing to do."""
    bench.worker()
    bench.attempt(bench.plan())
    bench.batch -= 1
    return dict(bench.table.scan(b""))


def test_a_store_declared_otherwise_stops_the_job_and_changes_nothing() -> None:
    bench = plain_job()
    before, committed = dict(bench.state.committed), len(bench.kafka.transactions)
    release(bench, OnChange.REFUSE)
    bench.feed(("a", 30, 3))
    with pytest.raises(StoreChanged, match=r"sums-0-0: store totals .* `forebay store upgrade sums`"):
        bench.run()
    assert (bench.state.committed, len(bench.kafka.transactions)) == (before, committed)


def test_the_batch_that_converts_processes_what_waits_on_the_converted_rows() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 500, 5), ("a", 400, 0), ("a", 600, 0), ("b", 19, 0))
    report = bench.run()
    assert report.conversions == [
        "store totals: key-value -> versioned history_retention_ms=1000: 2 rows read, 2 written or kept, 0 dropped"
    ]
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(5, 1)), ("b", Total(0, 0))]
    changes = dict(bench.kafka.transactions[-1].result.changes)
    assert (changes[b"totals\0a"], changes[b"totals\0b"], changes[KIND]) == (None, None, VERSIONED_TEXT)


def test_a_batch_without_records_converts_too_and_the_next_has_nothing_to_do() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    assert bench.run().step == "produce"
    report = bench.run()
    assert (report.step, report.conversions) == ("idle", [])
    release(bench, OnChange.REFUSE)
    bench.feed(("b", 700, 0))
    bench.run()
    assert bench.kafka.outputs() == [("b", Total(2, 1))]


def lost_before_commit(bench: Bench) -> None:
    bench.sink.fail_before_commit = True


def lost_after_commit(bench: Bench) -> None:
    bench.sink.fail_after_commit = True


@pytest.mark.parametrize("fail", [lost_before_commit, lost_after_commit])
def test_a_crash_around_the_commit_gives_the_same_rows_and_outputs_once(fail: Callable[[Bench], None]) -> None:
    def upgraded(failing: list[Callable[[Bench], None]]) -> Bench:
        bench = plain_job()
        release(bench, OnChange.CONVERT)
        bench.feed(("a", 500, 5), ("a", 400, 0))
        batch = bench.plan()
        for crash in failing:
            crash(bench)
            with pytest.raises(Unavailable):
                bench.attempt(batch)
            bench.worker()
        bench.run(batch)
        return bench

    straight, crashed = upgraded([]), upgraded([fail])
    assert crashed.kafka.outputs() == straight.kafka.outputs() == [("a", Total(1, 1))]
    assert crashed.kafka.committed == straight.kafka.committed
    assert crashed.state.committed == straight.state.committed
    assert rows(crashed) == rows(straight)


def test_after_a_crash_behind_the_commit_a_plain_start_is_refused_until_the_upgrade_is_through() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 500, 5))
    batch = bench.plan()
    bench.attempt(batch)
    release(bench, OnChange.REFUSE)
    with pytest.raises(StoreChanged):
        bench.attempt(batch)
    release(bench, OnChange.CONVERT)
    assert bench.run(batch).step == "suppress"
    release(bench, OnChange.REFUSE)
    bench.feed(("a", 600, 0))
    bench.run()
    assert bench.kafka.outputs() == [("a", Total(5, 1))]


def test_a_batch_that_the_old_release_committed_must_be_through_before_the_upgrade() -> None:
    bench = plain_job()
    bench.feed(("a", 30, 3))
    batch = bench.plan()
    bench.attempt(batch)
    release(bench, OnChange.CONVERT)
    with pytest.raises(ReplayDiffers, match="run the old version until this batch is through"):
        bench.run(batch)


def test_a_record_whose_value_can_not_be_encoded_undoes_itself_and_not_the_conversion() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.feed(("a", 30, UNFIT), ("a", 500, 5), ("a", 400, 0))
    report = bench.run()
    assert (report.errors, len(report.conversions)) == (1, 1)
    assert bench.kafka.outputs() == [("a", Total(1, 1))]


def test_the_conversion_is_read_back_from_the_block_log() -> None:
    bench = plain_job()
    release(bench, OnChange.CONVERT)
    bench.run()
    found = rows(bench)
    assert bench.table.tag != NO_TAG
    assert found[KIND] == VERSIONED_TEXT
    assert sorted(key[:8] for key in found if key.startswith(b"totals\0")) == [b"totals\0a", b"totals\0b"]
    assert all(len(key) > 8 for key in found if key.startswith(b"totals\0"))
