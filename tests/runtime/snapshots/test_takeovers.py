"""A worker that is paused while it writes a snapshot does not damage the snapshots of the next owner."""

from __future__ import annotations

import logging
from contextlib import suppress
from itertools import repeat

import pytest

from forebay.runtime.errors import GroupFenced, Unavailable
from forebay.runtime.snapshots import storage
from forebay.stores import blocklog
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.worker import Loop
from tests.runtime.simulator.world import World
from tests.runtime.snapshots.job import Job, rows

POINTS = ("state.list", "state.block", "state.write", "state.delete")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks so small that every lease replaces some."""
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 60)
    monkeypatch.setattr(blocklog, "CATCH_UP_DELTAS", 0)


@pytest.fixture
def job() -> Job:
    return Job(World(Setup("sum", 1, 1, records=600), 0))


def problems(job: Job, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings of a worker that loads the snapshots."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        job.load()
    return [record.getMessage() for record in caplog.records]


def pause(job: Job, loop: Loop, point: str, rounds: int) -> Loop:
    """Pause a worker while it writes a snapshot, until another worker has taken over and written `rounds` snapshots."""
    others = []

    def take_over() -> None:
        other = job.start()
        others.append(other)
        for _ in range(rounds):
            job.lease(other)

    job.pauses, job.meanwhile = point, take_over
    job.work(loop)
    with suppress(GroupFenced, Unavailable):
        loop.keeper.write(loop)
    assert others, f"the worker never reached {point}"
    return others[0]


@pytest.mark.parametrize("rounds", range(4))
@pytest.mark.parametrize("point", POINTS)
def test_a_writer_that_resumes_after_a_pause_breaks_no_snapshot(
    job: Job, caplog: pytest.LogCaptureFixture, point: str, rounds: int
) -> None:
    loop = job.start()
    for _ in range(4):
        job.lease(loop)
    other = pause(job, loop, point, rounds)
    assert problems(job, caplog) == []
    for _ in range(3):
        other = job.start()
        job.lease(other)
        assert problems(job, caplog) == []
        assert job.stored_rows() == rows(other)


def _delete_at_once(task: storage._TaskFiles, needed: set[str]) -> None:
    for name in set(task._files.list(task.folder)) - needed:
        task._files.delete(f"{task.folder}/{name}")


def test_a_writer_that_deletes_unneeded_files_at_once_would_damage_a_snapshot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(storage._TaskFiles, "_clean_up", _delete_at_once)
    broken = []
    for point in POINTS:
        for rounds in range(4):
            job = Job(World(Setup("sum", 1, 1, records=600), 0))
            loop = job.start()
            for _ in range(4):
                job.lease(loop)
            pause(job, loop, point, rounds)
            broken += problems(job, caplog)
    assert broken


def test_two_writers_never_write_the_same_file(job: Job) -> None:
    loop = job.start()
    job.lease(loop, 3)
    other = pause(job, loop, "state.block", 2)
    assert job.stored_rows() == rows(other)
    names = {path.rpartition("/")[2] for path in job.store.files}
    writers = {name[:8] for name in names if name.endswith(".block")}
    assert len(writers) == 2


def test_writers_with_the_same_number_would_mix_their_rows() -> None:
    mixed = 0
    for rounds in range(1, 6):
        job = Job(World(Setup("sum", 1, 1, records=600), 0))
        job.store.writers = repeat(1)  # type: ignore[assignment]
        loop = job.start()
        job.lease(loop, 3)
        other = pause(job, loop, "state.block", rounds)
        mixed += job.stored_rows() != rows(other)
    assert mixed


def test_a_worker_that_loads_slowly_while_the_owner_deletes_its_snapshot_writes_all_rows(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    loop = job.start()
    for _ in range(4):
        job.lease(loop)
    lease = job.world.driving.lease(0)
    slow = job.load()
    for _ in range(4):
        job.lease(loop)
    slow.start(lease)
    for _ in range(2):
        job.lease(slow)
        assert problems(job, caplog) == []
        assert job.stored_rows() == rows(slow)


def test_a_snapshot_that_is_deleted_while_it_is_loaded_is_replaced_by_a_newer_one(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    loop = job.start()
    for _ in range(4):
        job.lease(loop)

    def work_on() -> None:
        for _ in range(4):
            job.lease(loop)

    reads = []

    def at_second_read() -> None:
        reads.append(1)
        if len(reads) == 1:
            job.pauses = "state.read"
        else:
            work_on()

    job.pauses, job.meanwhile = "state.read", at_second_read
    fresh = job.start()
    assert fresh.group.coverage.is_incomplete is False
    assert len(reads) == 2
    assert dict(rows(fresh)) == dict(rows(job.start()))


@pytest.mark.parametrize("late", [1, 2])
def test_delayed_listings_of_the_object_store_damage_no_snapshot(
    job: Job, caplog: pytest.LogCaptureFixture, late: int
) -> None:
    clock = [0.0]
    job.store.now = lambda: clock[0]
    job.store.lateness = lambda: late - 0.5
    loop = job.start()
    for _ in range(5):
        job.lease(loop)
        clock[0] += 1
    for _ in range(4):
        other = pause(job, loop, "state.delete", 1)
        clock[0] += 1
        job.lease(other)
        clock[0] += 1
        loop = job.start()
        assert rows(loop) == rows(other)
        job.lease(loop)
        clock[0] += 1
        job.lease(loop)
        clock[0] += 1
    job.store.now = lambda: 1e9
    assert problems(job, caplog) == []


def test_few_files_remain_however_long_it_runs(job: Job) -> None:
    loop = job.start()
    counts = []
    for _ in range(12):
        job.lease(loop)
        counts.append(len(job.store.files))
    manifests = [path for path in job.store.files if path.endswith(".manifest")]
    assert len(manifests) <= 3
    assert counts[-1] <= 4 * len(job.blocks()) + 4
