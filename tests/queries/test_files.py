"""A restarted query server resumes from its file of rows, or rebuilds the file if resuming would be wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forebay.queries import replica as replicas
from forebay.queries.reads import Bounds
from forebay.queries.replica import TaskReplica
from forebay.queries.saved_rows import Files, FilesInUse, mark_of
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog
from forebay.stores.standby_tables import CopyTable
from forebay.testing.cell import Cell
from tests.queries.written import CODECS, LOG, WrittenTask

DAY = 86_400.0


def open_replica(file: Path, log: SubTopologyLog = LOG, kept_s: float = DAY) -> TaskReplica:
    return TaskReplica(0, log, CODECS, CopyTable(file), kept_s)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows" / "app-0-0.sqlite"


def written(file: Path) -> tuple[WrittenTask, dict[str, int]]:
    """Return a task with a row whose replica is in a file, and the end offsets of its changelogs."""
    task = WrittenTask(0, open_replica(file))
    task.store("plain").put("a", Cell("1"))
    ends = task.commit()
    task.replica.batches_end(ends)
    return task, ends


def value(found: TaskReplica, key: str) -> object:
    _, entries = found.get("plain", key, Bounds(), 1)
    return entries[0].value if entries else None


def test_a_start_resumes_where_the_last_one_ended(file: Path) -> None:
    task, ends = written(file)
    task.replica.close()
    again = open_replica(file)
    assert again.begins == ends
    assert (again.batch, value(again, "a")) == (1, Cell("1"))
    assert again.ends == task.replica.ends
    assert not again.is_current, "later commits are not read yet"


@pytest.mark.parametrize("why", ["too old", "another kind of store", "killed while it read", "damaged"])
def test_it_starts_over_if_resuming_would_be_wrong(why: str, file: Path) -> None:
    task, _ = written(file)
    if why == "killed while it read":
        task.replica._table.apply([(b"plain\0b", b"x")], b"reading")
    task.replica.close()
    log, kept_s = LOG, DAY
    if why == "damaged":
        file.write_bytes(b"no database" * 1_000)
    if why == "too old":
        kept_s = 0.0
    if why == "another kind of store":
        log = dataclasses.replace(LOG, stores=LOG.stores[1:])
    again = TaskReplica(0, log, CODECS, CopyTable(file), kept_s)
    assert (again.begins, again.batch, again.row_count) == ({}, -1, 0)


def test_a_replica_far_behind_does_not_buffer_rows_in_memory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "_AT_ONCE", 10)
    task = WrittenTask(0, open_replica(file))
    topic = next(topic for topic in task.replica.topics if topic.endswith("plain-changelog"))
    task.replica.expect({item: 1_000 if item == topic else 0 for item in task.replica.topics})
    for number in range(95):
        task.store("plain").put(f"key {number}", Cell(str(number)))
    ends = task.commit()
    assert len(task.replica._waiting[topic]) < 20
    assert task.replica._file is not None
    assert mark_of(task.replica._file, LOG, 0) is None
    task.replica.batches_end(ends)
    assert task.replica.row_count >= 95
    assert value(task.replica, "key 94") == Cell("94")


def test_two_servers_do_not_share_a_directory(tmp_path: Path) -> None:
    first = Files(tmp_path, "app")
    with pytest.raises(FilesInUse, match="a separate directory"):
        Files(tmp_path, "app")
    first.close()
    Files(tmp_path, "app").close()
