"""A worker that can't use a snapshot logs this and loads the previous one, or replays the changelogs from the start."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from forebay.runtime.snapshots.manifest import encode_manifest
from forebay.stores import blocklog
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.world import World
from tests.runtime.snapshots.job import PLACE, Job, rows

FOLDER = "snapshots/c1/0-0"
Damage = Callable[[Job, str], None]


def lose(job: Job, path: str) -> None:
    del job.store.files[path]


def tear(job: Job, path: str) -> None:
    job.store.files[path] = job.store.files[path][:-3]


def empty(job: Job, path: str) -> None:
    job.store.files[path] = b""


def change(job: Job, path: str) -> None:
    data = bytearray(job.store.files[path])
    data[len(data) // 2] ^= 1
    job.store.files[path] = bytes(data)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    # Each lease writes all rows, so that no two snapshots share a block.
    monkeypatch.setattr(blocklog, "CATCH_UP_DELTAS", 0)
    job = Job(World(Setup("sum", 1, 1, records=300), 0))
    loop = job.start()
    for _ in range(3):
        loop.group.coverage.is_incomplete = True
        job.lease(loop)
    return job


def manifests(job: Job) -> list[str]:
    """Return the paths of the manifests, newest first."""
    return sorted((path for path in job.store.files if path.endswith(".manifest")), reverse=True)


def block_of(job: Job, number: int) -> str:
    """Return the path of a block of the newest snapshot (0) or of the previous one (1) that the other does not have."""
    snapshots = list(job.storage.snapshots(PLACE))
    mine, other = (blocklog.blocks_of(snapshot.directory) for snapshot in (snapshots[number], snapshots[1 - number]))
    return f"{FOLDER}/{min(mine - other):016x}.block"


def load(job: Job, caplog: pytest.LogCaptureFixture) -> tuple[int, list[str]]:
    """Return the commit number that a new worker loads (0: no snapshot), and its log messages."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        loop = job.load()
    task = loop.group.tasks[0]
    assert loop.group.coverage.is_incomplete == (not task.position.n)
    loaded, logged = task.position.n, [record.getMessage() for record in caplog.records]
    loop.start(job.world.driving.lease(0))
    assert rows(loop) == rows(job.start())
    return loaded, logged


@pytest.mark.parametrize("damage", [lose, tear, empty, change])
@pytest.mark.parametrize("what", ["manifest", "block"])
def test_the_previous_snapshot_is_used_then_the_changelogs(
    job: Job, caplog: pytest.LogCaptureFixture, what: str, damage: Damage
) -> None:
    commits = [snapshot.position.n for snapshot in job.storage.snapshots(PLACE)]
    paths = manifests(job)[:2] if what == "manifest" else [block_of(job, 0), block_of(job, 1)]
    for path in manifests(job)[2:]:
        lose(job, path)
    assert load(job, caplog) == (commits[0], [])
    damage(job, paths[0])
    loaded, logged = load(job, caplog)
    assert loaded == commits[1]
    assert len(logged) == (0 if (what, damage) == ("manifest", lose) else 1)
    damage(job, paths[1])
    loaded, logged = load(job, caplog)
    assert loaded == 0
    if (what, damage) != ("manifest", lose):
        assert logged[-1] == f"{FOLDER}: no snapshot can be used: reading the changelogs from the beginning"


def test_the_next_snapshot_after_damage_is_complete(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    for path in manifests(job):
        tear(job, path)
    loop = job.start()
    job.lease(loop)
    assert job.stored_rows() == rows(loop)
    for _ in range(3):
        job.lease(loop)
    assert [path for path in manifests(job) if b"snapshot" not in job.store.files[path][:20]] == []
    assert load(job, caplog)[1] == []


def test_a_block_that_is_lost_while_the_job_runs_is_written_again(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    loop = job.start()
    job.lease(loop)
    for path in [path for path in job.store.files if path.endswith(".block")]:
        lose(job, path)
    job.lease(loop)
    assert job.stored_rows() == rows(loop)
    assert load(job, caplog)[1] == []


@pytest.mark.parametrize("copied", ["of another checkpoint", "of another release"])
def test_a_foreign_manifest_is_named_and_skipped(job: Job, caplog: pytest.LogCaptureFixture, copied: str) -> None:
    newest = next(job.storage.snapshots(PLACE))
    foreign = replace(newest, position=replace(newest.position, checkpoint="c0"))
    data = encode_manifest(foreign) if copied == "of another checkpoint" else b"forebay-snapshot-9\n" + bytes(40)
    path = f"{FOLDER}/{newest.position.n + 5:020}-{newest.written_at:020}-{99:08x}.manifest"
    job.store.files[path] = data
    loaded, logged = load(job, caplog)
    assert loaded == newest.position.n
    assert len(logged) == 1
    assert path in logged[0]
    reasons = {"of another checkpoint": "it belongs to checkpoint c0, not to c1"}
    assert reasons.get(copied, "another release wrote it") in logged[0]


def test_files_that_are_neither_block_nor_manifest_are_skipped_and_removed(job: Job) -> None:
    job.store.files[f"{FOLDER}/{7:016x}.block.unfinished"] = b"half"
    loop = job.start()
    for _ in range(3):
        job.lease(loop)
    assert not [path for path in job.store.files if path.endswith(".unfinished")]


@pytest.mark.parametrize("point", ["state.block", "state.write", "state.list"])
def test_no_row_is_lost_if_the_object_store_fails_for_a_while(
    job: Job, caplog: pytest.LogCaptureFixture, point: str
) -> None:
    loop = job.start()
    job.lease(loop)
    job.fails = point
    for _ in range(3):
        job.work(loop)
        with pytest.raises(Exception, match=point):
            loop.keeper.write(loop)
        assert loop.keeper.trouble == point, "the next lease reports it"
    job.fails = ""
    job.lease(loop)
    assert not loop.keeper.trouble
    assert job.stored_rows() == rows(loop)
    assert load(job, caplog)[1] == []


def test_snapshots_are_written_even_if_the_object_store_refuses_deletes(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    loop = job.start()
    job.fails = "state.delete"
    for _ in range(3):
        loop.group.coverage.is_incomplete = True
        job.lease(loop)
        assert job.stored_rows() == rows(loop)
    assert "files that it replaces remain: state.delete" in caplog.text
