"""A task that takes its state from its changelogs: the same rows, times and outputs as if it had never lost it."""

from __future__ import annotations

import dataclasses

import pytest
from forebay.runtime.batch import Range, TaskBatch

from forebay.codec import Unavailable
from forebay.runtime.errors import StateConflict
from forebay.runtime.restore import restore_point
from forebay.runtime.stateformat import decode_block, decode_state, encode_block
from forebay.stores.blocklog import append, catch_up, snapshot
from forebay.stores.table import Change, MemoryTable
from tests.runtime.task_harness import TOPIC, Bench, FakeState


def restore_batch(bench: Bench, job: str = "job-2") -> TaskBatch:
    """Plan a restore as the driver does, for a new checkpoint."""
    position = bench.kafka.restore(MemoryTable())
    assert position is not None
    point = restore_point({(0, 0): position})
    assert point is not None
    bench.job, bench.batch = job, point.batch + 1
    ranges = tuple(Range(topic, partition, end, end) for topic, partition, end in point.ends)
    return TaskBatch(job, 0, bench.batch, bench.clock, 0, ranges, restore=True)


def worked() -> Bench:
    bench = Bench()
    bench.feed(("ann", 1_000, 1), ("bob", 1_500, 2), ("ann", 2_600, 4))
    bench.run()
    bench.feed(("cat", 2_700, 8))
    bench.run()
    bench.run(idle_ms=5_000)
    return bench


def go_on(bench: Bench) -> None:
    bench.feed(("ann", 9_000, 16), ("bob", 9_500, 32), ("dan", 9_600, -1))
    bench.run()
    bench.run(idle_ms=60_000)


def lose_checkpoint(bench: Bench) -> None:
    bench.state = FakeState()
    bench.worker()


def test_after_a_restore_everything_goes_on_as_if_nothing_had_happened() -> None:
    never_failed, restored = worked(), worked()
    rows = dict(restored.table.scan(b""))
    lose_checkpoint(restored)
    restored.run(restore_batch(restored))
    go_on(never_failed)
    go_on(restored)
    assert rows
    assert restored.kafka.outputs() == never_failed.kafka.outputs()
    assert restored.totals() == never_failed.totals()
    ours, theirs = (decode_state(bench.state.committed["state"]) for bench in (restored, never_failed))
    assert ours.position == theirs.position
    assert ours.position.closing_time > ours.position.stream_time


def test_ids_and_timers_are_restored() -> None:
    bench = worked()
    bench.run(idle_ms=5_000)
    before = dict(bench.table.scan(b""))
    lose_checkpoint(bench)
    bench.run(restore_batch(bench))
    assert dict(bench.table.scan(b"")) == before
    assert any(key.startswith(b"\x01dedupe") for key in before)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_restore_that_breaks_is_done_again(when: str) -> None:
    bench = worked()
    lose_checkpoint(bench)
    batch = restore_batch(bench)
    setattr(bench.sink, f"fail_{when}_commit", True)
    with pytest.raises(Unavailable):
        bench.attempt(batch)
    bench.worker()
    bench.run(batch)
    go_on(bench)
    other = worked()
    go_on(other)
    assert bench.kafka.outputs() == other.kafka.outputs()
    assert bench.totals() == other.totals()


def test_a_restore_whose_state_was_not_kept_is_not_committed_twice() -> None:
    bench = worked()
    lose_checkpoint(bench)
    batch = restore_batch(bench)
    bench.attempt(batch)
    sent = len(bench.kafka.transactions)
    bench.worker()
    bench.run(batch)
    assert len(bench.kafka.transactions) == sent


def test_the_old_checkpoint_can_not_go_on_beside_the_new_one() -> None:
    bench = worked()
    old_state, old_job = bench.state, bench.job
    lose_checkpoint(bench)
    bench.run(restore_batch(bench))
    bench.state, bench.job = old_state, old_job
    bench.worker()
    bench.feed(("ann", 9_000, 16))
    with pytest.raises(StateConflict, match="the marker belongs to checkpoint job-2"):
        bench.run()


def test_a_batch_the_old_job_commits_meanwhile_stops_the_restore() -> None:
    bench = worked()
    batch = restore_batch(bench)
    bench.job = "job-1"
    bench.feed(("ann", 9_000, 16))
    bench.run(dataclasses.replace(bench.plan(), job="job-1"))
    lose_checkpoint(bench)
    with pytest.raises(StateConflict, match="still runs somewhere"):
        bench.attempt(batch)


def test_a_task_without_history_has_nothing_to_restore() -> None:
    bench = Bench(job="job-2")
    bench.batch = 8
    report = bench.run(TaskBatch("job-2", 0, 8, bench.clock, 0, (Range(TOPIC, 0, 0, 0),), restore=True))
    assert (report.step, bench.kafka.transactions, bench.state.committed) == ("restore", [], {})
    bench.feed(("ann", 1, 1))
    assert bench.run().step == "produce"


@pytest.mark.parametrize("rows", [0, 1, 3, 5_000])
def test_a_snapshot_reads_back_and_can_be_appended_to(rows: int) -> None:
    table, blocks = MemoryTable(), FakeState()
    table.apply([(b"k%06d" % n, b"v" * 500) for n in range(rows)], b"tag")

    directory = snapshot(table, b"tag", encode_block, blocks.put_block)
    again = MemoryTable()
    catch_up(again, directory, blocks, decode_block)
    assert (dict(again.scan(b"")), again.tag) == (dict(table.scan(b"")), b"tag")
    change: list[Change] = [(b"k000001", None), (b"new", b"row")]
    written = append(directory, [encode_block(change)], b"next", table, encode_block)
    for number, data in written.put.items():
        blocks.put_block(number, data)
    for number in written.delete:
        blocks.delete_block(number)
    other = MemoryTable()
    catch_up(other, written.directory, blocks, decode_block)
    table.apply(change, b"next")
    assert dict(other.scan(b"")) == dict(table.scan(b""))
