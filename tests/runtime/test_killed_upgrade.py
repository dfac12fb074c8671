"""If a store's conversion is killed at any step, with or without a snapshot, a new process has the committed rows."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from forebay.processor import AnyProcessor, Context, Processor
from forebay.runtime.errors import StateConflict
from forebay.runtime.maintenance.rescale import refuse_other_kinds
from forebay.runtime.maintenance.standby import TaskCopy
from forebay.stores import KeyValueStore, TimestampedKeyValueStore, VersionedKeyValueStore
from forebay.stores.kinds import OnChange
from forebay.stores.standby_tables import CopyTable
from tests.runtime.group_bench import GroupBench
from tests.runtime.simulator.worker import Crashed
from tests.runtime.task_records import Number, Total

pytestmark = pytest.mark.long


class Plain(Processor[Number, Total]):
    """Stores the last amount of a key. An amount of 0 forwards it, and -1 deletes it."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            self.totals.put(ctx.key, store(event))
        else:
            ctx.forward(self.totals.get(ctx.key) or Total(0, 0))


class Timestamped(Processor[Number, Total]):
    totals = TimestampedKeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            self.totals.put(ctx.key, store(event), event.timestamp)
        else:
            total = self.totals.get(ctx.key)
            ctx.forward(total.value if total else Total(0, 0))


class Versioned(Processor[Number, Total]):
    totals = VersionedKeyValueStore("totals", Total, history_retention_ms=10_000)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount:
            self.totals.put(ctx.key, store(event), event.timestamp)
        else:
            total = self.totals.get(ctx.key)
            ctx.forward(total.value if total else Total(0, 0))


def store(event: Number) -> Any:
    return None if event.amount == -1 else Total(event.amount, 1)


KINDS: list[type[AnyProcessor]] = [Plain, Timestamped, Versioned]
PAIRS = [pair for pair in itertools.product(KINDS, KINDS) if pair[0] is not pair[1]]
ANSWERS = [("a", Total(3, 1)), ("b", Total(2, 1)), ("c", Total(0, 0)), ("d", Total(9, 1))]
pairs = pytest.mark.parametrize(("before", "after"), PAIRS, ids=lambda kind: kind.__name__.lower())
snapshots = pytest.mark.parametrize("has_snapshot", [True, False], ids=["snapshot", "no-snapshot"])


def job_of(kind: type[AnyProcessor], *, has_snapshot: bool) -> GroupBench:
    """Return a job that has committed rows, some before its snapshot and some after it."""
    bench = GroupBench(kind)
    bench.feed(("a", 10, 1), ("b", 20, 2), ("c", 25, 7))
    bench.run()
    if has_snapshot:
        bench.end_lease()
    bench.feed(("a", 30, 3), ("c", 35, -1), ("d", 40, 9))
    bench.run()
    return bench


def release(bench: GroupBench, kind: type[AnyProcessor], on_change: OnChange) -> None:
    """Continue in a new process that runs this processor and has only the snapshot's rows in its tables."""
    bench.group.abandon()
    bench.processor = kind
    bench.engine = dataclasses.replace(bench.engine, on_change=on_change)
    bench.worker()


def kill_at(bench: GroupBench, step: int) -> bool:
    """Run and end at the fault point number `step`. Return whether the run reached it."""
    steps = itertools.count()

    def at(point: str) -> None:
        if next(steps) == step:
            raise Crashed

    bench.at = at  # type: ignore[method-assign]
    bench.worker()
    try:
        bench.run()
    except Crashed:
        return True
    finally:
        del bench.at
    return False


def ask(bench: GroupBench) -> list[tuple[str, Total]]:
    """Return the stored value of each key."""
    seen = len(bench.outputs())
    bench.feed(*((key, 50, 0) for key in "abcd"))
    bench.run()
    return bench.outputs()[seen:]


@snapshots
@pairs
def test_a_conversion_may_be_killed_at_any_step(
    before: type[AnyProcessor], after: type[AnyProcessor], has_snapshot: bool
) -> None:
    straight = job_of(before, has_snapshot=has_snapshot)
    release(straight, after, OnChange.CONVERT)
    straight.run()
    for step in itertools.count():
        bench = job_of(before, has_snapshot=has_snapshot)
        release(bench, after, OnChange.CONVERT)
        was_killed = kill_at(bench, step)
        release(bench, after, OnChange.CONVERT)
        bench.run()
        release(bench, after, OnChange.REFUSE)
        assert ask(bench) == ANSWERS, f"killed at step {step}"
        if not was_killed:
            break
    assert step > 5
    assert ask(straight) == ANSWERS
    assert straight.rows() == bench.rows()


@snapshots
@pairs
def test_if_it_is_killed_before_the_conversion_the_previous_release_resumes(
    before: type[AnyProcessor], after: type[AnyProcessor], has_snapshot: bool
) -> None:
    bench = job_of(before, has_snapshot=has_snapshot)
    release(bench, after, OnChange.CONVERT)
    assert kill_at(bench, 1)
    release(bench, before, OnChange.REFUSE)
    assert ask(bench) == ANSWERS


@snapshots
@pairs
def test_a_store_can_be_converted_back_and_forth_without_a_snapshot_in_between(
    before: type[AnyProcessor], after: type[AnyProcessor], has_snapshot: bool
) -> None:
    bench = job_of(before, has_snapshot=has_snapshot)
    for kind in (after, before, after):
        release(bench, kind, OnChange.CONVERT)
        bench.run()
    release(bench, after, OnChange.REFUSE)
    assert ask(bench) == ANSWERS


@pairs
@pytest.mark.parametrize("declared", ["before", "after"])
def test_a_standby_of_either_release_copies_the_job_s_rows(
    before: type[AnyProcessor], after: type[AnyProcessor], declared: str, tmp_path: Any
) -> None:
    bench = job_of(before, has_snapshot=False)
    # A standby's release may be the one before the conversion or the one after it.
    rows = GroupBench(before if declared == "before" else after).logs.rows()
    copy = TaskCopy(CopyTable(tmp_path / "copy.sqlite"), rows)
    taken: dict[str, int] = {}
    for step in ("before", "converted", "later"):
        if step == "converted":
            release(bench, after, OnChange.CONVERT)
            bench.run()
        if step == "later":
            bench.feed(("e", 60, 8))
            bench.run()
        follow(bench, copy, taken)
        assert dict(copy.table.scan(b"")) == bench.rows()
        bench.run()


def follow(bench: GroupBench, copy: TaskCopy, taken: dict[str, int]) -> None:
    for _ in bench.broker.partitions:
        bench.broker.settle()
    ends = {topic: bench.broker.partitions[topic, 0].end for topic in copy.topics}
    for topic in sorted(ends, reverse=True):
        for record in bench.broker.committed(topic):
            if record.offset_ >= taken.get(topic, 0):
                copy.take(topic, record.offset_, record.key_ or b"", record.value_, record.timestamp_)
        taken[topic] = ends[topic]
    copy.batches_end(ends)


@pairs
def test_a_rescale_refuses_rows_that_were_not_converted(before: type[AnyProcessor], after: type[AnyProcessor]) -> None:
    bench = job_of(before, has_snapshot=False)
    bench.rows()
    log = GroupBench(after).logs
    with pytest.raises(StateConflict, match="`forebay store upgrade sums`"):
        refuse_other_kinds("app-0-0", bench.table, log, "sums")
    refuse_other_kinds("app-0-0", bench.table, bench.logs, "sums")
