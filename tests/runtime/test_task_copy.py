"""A standby's copy of a task contains only complete commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.maintenance.standby import TaskCopy
from forebay.runtime.protocol.position import POSITION, TaskPosition, commits_in
from forebay.stores.standby_tables import CopyTable

ROWS = ChangelogRows({"s": "store"}, "internal")


class Topics:
    """A task's changelogs, with a transaction (and its marker, None) per commit."""

    def __init__(self) -> None:
        self.records: dict[str, list[tuple[bytes, bytes | None] | None]] = {"store": [], "internal": []}

    def commit(self, batch: int, *rows: tuple[bytes, bytes | None]) -> dict[str, int]:
        self.records["store"] += [*rows, None]
        timer = (b"\x01timer\0t\0k", b"%d" % batch)
        self.records["internal"] += [timer, (POSITION, TaskPosition("c1", batch).to_json()), None]
        return {topic: len(records) for topic, records in self.records.items()}


@pytest.fixture
def copy(tmp_path: Path) -> TaskCopy:
    return TaskCopy(CopyTable(tmp_path / "copy.sqlite"), ROWS)


def give(copy: TaskCopy, topics: Topics, taken: dict[str, int], until: dict[str, int]) -> None:
    for topic, records in topics.records.items():
        for offset in range(taken.get(topic, 0), until[topic]):
            record = records[offset]
            if record is not None:
                copy.take(topic, offset, *record, 0)
        taken[topic] = until[topic]


def state(copy: TaskCopy) -> tuple[int, dict[bytes, bytes]]:
    number = commits_in(copy.table.tag, "c1") if copy.table.tag else -1
    return number, dict(copy.table.scan(b""))


def test_a_commit_is_applied_when_it_has_been_read(copy: TaskCopy) -> None:
    topics = Topics()
    taken: dict[str, int] = {}
    first = topics.commit(1, (b"a", b"1"))
    assert copy.batches_end(first) == -1
    give(copy, topics, taken, first)
    assert copy.batches_end(first) == 1
    assert state(copy) == (1, {b"s\0a": b"1", b"\x01timer\0t\0k": b"1"})
    second = topics.commit(2, (b"a", b"2"), (b"b", b"2"))
    give(copy, topics, taken, second)
    assert copy.batches_end(second) == 2
    assert state(copy) == (2, {b"s\0a": b"2", b"s\0b": b"2", b"\x01timer\0t\0k": b"2"})
    third = topics.commit(5, (b"a", None))
    give(copy, topics, taken, third)
    assert copy.batches_end(third) == 5
    assert state(copy) == (5, {b"s\0b": b"2", b"\x01timer\0t\0k": b"5"})


def test_without_another_commit_nothing_is_applied(copy: TaskCopy) -> None:
    topics = Topics()
    taken: dict[str, int] = {}
    ends = topics.commit(1, (b"a", b"1"))
    give(copy, topics, taken, ends)
    assert [copy.batches_end(ends) for _ in range(3)] == [1, -1, -1]


def test_records_read_beyond_the_ends_wait(copy: TaskCopy) -> None:
    topics = Topics()
    taken: dict[str, int] = {}
    first = topics.commit(1, (b"a", b"1"))
    second = topics.commit(2, (b"a", b"2"))
    third = topics.commit(3, (b"a", b"3"))
    give(copy, topics, taken, third)
    assert copy.batches_end(first) == 1
    assert state(copy)[1][b"s\0a"] == b"1"
    assert [copy.batches_end(ends) for ends in (second, third)] == [2, 3]
    assert state(copy)[1][b"s\0a"] == b"3"


def test_several_commits_are_applied_at_once(copy: TaskCopy) -> None:
    topics = Topics()
    taken: dict[str, int] = {}
    for batch in (1, 2, 3):
        ends = topics.commit(batch, (b"a", b"%d" % batch), (b"k%d" % batch, b"x"))
    give(copy, topics, taken, ends)
    assert copy.batches_end(ends) == 3
    assert sorted(key for key in state(copy)[1] if key.startswith(b"s")) == [b"s\0a", b"s\0k1", b"s\0k2", b"s\0k3"]
