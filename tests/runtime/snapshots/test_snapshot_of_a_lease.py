"""A lease's snapshot contains all rows, so a worker that loads it has the same state as the loop that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forebay.runtime.errors import Unavailable
from forebay.stores import blocklog
from forebay.stores.blocklog import Rewriting
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.world import World
from tests.runtime.snapshots.job import PLACE, Job, rows


@pytest.fixture
def job() -> Job:
    return Job()


def test_a_snapshot_contains_all_rows_and_the_start_of_the_changelog_replay(job: Job) -> None:
    loop = job.start()
    for _ in range(4):
        job.lease(loop)
        assert job.stored_rows() == rows(loop)
    again = job.start()
    assert rows(again) == rows(loop)


@pytest.mark.parametrize("point", ["ends", "commit.begin", "commit.before", "state.list", "state.block", "state.write"])
def test_a_lease_that_ends_during_an_outage_does_not_damage_the_previous_snapshot(job: Job, point: str) -> None:
    loop = job.start()
    job.lease(loop, 4)
    before = job.stored_rows()
    for _ in range(6):
        job.work(loop)
        job.fails = point
        with pytest.raises(Unavailable):
            loop.keeper.write(loop)
        job.fails = ""
        assert job.stored_rows() == before
        if not loop.group.is_open:
            loop.group.open(job.world.driving.lease(0))
    job.lease(loop)
    assert job.stored_rows() == rows(loop)


def test_a_loop_writes_all_rows_after_another_loop_has_written_a_snapshot(job: Job) -> None:
    loop = job.start()
    job.lease(loop, 3)
    other = job.start()
    for _ in range(3):
        job.lease(other)
    loop.group.abandon()
    loop.group.open(job.world.driving.lease(0))
    job.lease(loop)
    assert job.stored_rows() == rows(loop)
    assert min(job.blocks()) >= loop.keeper._storage.first_block


def test_a_group_that_is_not_open_writes_no_snapshot(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    before = dict(job.store.files)
    loop.group.abandon()
    with pytest.raises(Unavailable, match="can't prove by a commit that it owns the group"):
        loop.keeper.write(loop)
    assert job.store.files == before


def test_a_group_that_never_committed_writes_no_snapshot(job: Job) -> None:
    loop = job.start()
    loop.keeper.write(loop)
    assert not [path for path in job.store.files if path.endswith(".manifest")]


def test_a_snapshot_that_replaces_all_rows_is_read_back(job: Job) -> None:
    loop = job.start()
    for _ in range(3):
        loop.group.coverage.is_incomplete = True
        job.lease(loop, 2)
        assert job.stored_rows() == rows(loop)


def test_rows_are_rewritten_a_few_at_a_time_while_commits_continue(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 40)
    job.piece_blocks = 1
    loop = job.start()
    job.lease(loop, 3)
    loop.group.coverage.is_incomplete = True
    keeper, writer = loop.keeper, loop.group.writers[PLACE]
    pieces = 0
    keeper.put_waiting(loop)
    while writer.is_rewriting and pieces < 3:
        job.work(loop)
        keeper.put_waiting(loop)
        pieces += 1
    assert pieces == 3, "there are more rows than that"
    loop.group.coverage.is_incomplete = True  # A second replay of the changelogs restarts the rewrite.
    keeper.put_waiting(loop)
    job.work(loop)
    keeper.write(loop)
    assert job.stored_rows() == rows(loop)
    job.lease(loop)
    assert job.stored_rows() == rows(loop)


def test_deleted_rows_do_not_return_from_a_snapshot_older_than_the_delete_retention(job: Job) -> None:
    loop = job.start()
    job.lease(loop, 6)
    table = loop.group.tasks[0].table
    stale = dict.fromkeys((key for key, _ in list(table.scan(b""))), None)
    table.clear()
    loop.group.coverage.is_incomplete = True
    loop.keeper.write(loop)
    assert stale
    assert job.stored_rows() == {}


def test_rows_that_could_not_be_encoded_for_lack_of_memory_are_in_the_next_snapshot(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = job.start()
    job.lease(loop)
    job.work(loop)

    def fail(_: object) -> bytes:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("forebay.runtime.task.snapshot.encode_block", fail)
        with pytest.raises(MemoryError):
            loop.keeper.write(loop)
    loop.keeper.write(loop)
    assert job.stored_rows() == rows(loop)


def test_blocks_encoded_before_memory_ran_out_are_written(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = job.start()
    job.lease(loop, 6)
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 50)
    loop.group.coverage.is_incomplete = True
    encode, calls = Rewriting.__init__, 0

    def begin(self: Rewriting, table: Any, tag: bytes, encode_rows: Any, first: int) -> None:
        def fail_once(rows: Any) -> bytes:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise MemoryError
            return encode_rows(rows)  # type: ignore[no-any-return]

        encode(self, table, tag, fail_once, first)

    monkeypatch.setattr(Rewriting, "__init__", begin)
    with pytest.raises(MemoryError):
        loop.keeper.write(loop)
    loop.keeper.write(loop)
    assert calls > 3
    assert job.stored_rows() == rows(loop)


def test_a_snapshot_is_as_old_as_its_offsets(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    learnt = loop.group.coverage.known_at
    job.world.broker.now += 60
    assert next(job.storage.snapshots(PLACE)).written_at == learnt


@pytest.mark.long
def test_a_snapshot_needs_few_calls_to_the_loop_regardless_of_the_number_of_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each call waits for a cycle of the loop, which lasts 0.1 s if no records arrive.
    job = Job(World(Setup("sum", 64, 64, records=2_000), 0))
    loop = job.start()
    while not loop.group.is_done(job.world.driving.lease(0)):
        loop.group.cycle(job.world.driving.lease(0), 0.02)
    assert sum(writer.waiting > 0 for writer in loop.group.writers.values()) > 5
    asked, answer = [], loop.between_commits

    def call_counted(call: Callable[[], Any], seconds: float = 0) -> Any:
        asked.append(call)
        return answer(call, seconds)

    monkeypatch.setattr(loop, "between_commits", call_counted)
    loop.keeper.write(loop)
    assert len(asked) <= 3 + 64 / job.piece_blocks, "pieces of all rows, what came since, the snapshots"
    for place, writer in loop.group.writers.items():
        assert job.stored_rows(place) == dict(loop.group.tasks[place[1]].table.scan(b""))
        assert writer.waiting == 0


def test_a_slow_store_does_not_delay_a_lease_and_the_next_lease_writes_the_rest(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 40)
    loop = job.start()
    job.work(loop, 4)
    before = dict(job.store.files)
    with pytest.raises(Unavailable, match="takes too long: the next lease writes the rest"):
        loop.keeper.write(loop, seconds=-1.0)
    assert not [path for path in job.store.files.keys() - before if path.endswith(".manifest")]
    job.lease(loop)
    assert job.stored_rows() == rows(loop)
