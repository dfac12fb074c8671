"""A task that is restored from its changelogs behaves as if it had never lost its state."""

from __future__ import annotations

import pytest

from forebay.codec import Unavailable
from forebay.runtime.errors import StateConflict
from tests.runtime.group_bench import GroupBench
from tests.runtime.simulator.state import Store


def busy_bench() -> GroupBench:
    bench = GroupBench()
    bench.feed(("ann", 1_000, 1), ("bob", 1_500, 2), ("ann", 2_600, 4))
    bench.run()
    bench.end_lease()
    bench.feed(("cat", 2_700, 8))
    bench.run(idle_seconds=5)
    return bench


def go_on(bench: GroupBench) -> None:
    bench.feed(("ann", 9_000, 16), ("bob", 9_500, 32), ("dan", 9_600, -1))
    bench.run(idle_seconds=60)


def lose_checkpoint(bench: GroupBench) -> None:
    bench.group.abandon()
    bench.store, bench.checkpoint, bench.number, bench.restore = Store(), "c2", 1, True
    bench.worker()


def rows(bench: GroupBench) -> dict[bytes, bytes]:
    return dict(bench.table.scan(b""))


def test_after_a_restore_everything_resumes_unchanged() -> None:
    never_failed, restored = busy_bench(), busy_bench()
    lose_checkpoint(restored)
    for bench in (never_failed, restored):
        go_on(bench)
    assert restored.outputs() == never_failed.outputs()
    assert rows(restored) == rows(never_failed)
    ours, theirs = restored.positions()[-1], never_failed.positions()[-1]
    assert (ours.stream_time, ours.closing_time) == (theirs.stream_time, theirs.closing_time)
    assert ours.checkpoint == "c2"


def test_ids_and_timers_are_restored() -> None:
    bench = busy_bench()
    before = rows(bench)
    lose_checkpoint(bench)
    bench.group.open(bench.lease)
    assert rows(bench) == before
    assert any(key.startswith(b"\x01dedupe") for key in before)


@pytest.mark.parametrize("point", ["commit.before", "commit.after"])
def test_an_interrupted_restore_is_repeated(point: str) -> None:
    bench, other = busy_bench(), busy_bench()
    lose_checkpoint(bench)
    with pytest.raises(Unavailable):
        bench.fail(point)
    bench.worker()
    for job in (bench, other):
        go_on(job)
    assert bench.outputs() == other.outputs()
    assert bench.totals() == other.totals()


def test_the_state_belongs_to_the_new_checkpoint_after_the_first_commit() -> None:
    bench = busy_bench()
    lose_checkpoint(bench)
    bench.group.open(bench.lease)
    assert not bench.group.is_taken_over(bench.lease)
    bench.run()
    assert bench.group.is_taken_over(bench.lease)


def test_the_old_checkpoint_can_not_continue_next_to_the_new_one() -> None:
    bench = busy_bench()
    old_store = bench.store
    lose_checkpoint(bench)
    bench.run()
    bench.store, bench.checkpoint, bench.restore = old_store, "c1", False
    bench.worker()
    with pytest.raises(StateConflict, match="belongs to checkpoint c2, but checkpoint c1 is running"):
        bench.run()


def test_without_a_restore_another_checkpoints_changelogs_are_refused_and_no_worker_is_fenced() -> None:
    bench = busy_bench()
    former = bench.group
    lose_checkpoint(bench)
    bench.restore = False
    with pytest.raises(StateConflict, match="forebay run --restore"):
        bench.run()
    bench.group, bench.checkpoint = former, "c1"
    go_on(bench)


def test_a_task_without_history_has_nothing_to_restore() -> None:
    bench = GroupBench(checkpoint="c2")
    bench.restore = True
    assert bench.run() == 0
    bench.feed(("ann", 1, 1))
    assert bench.run() == 1
