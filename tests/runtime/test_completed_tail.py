"""A task resumes from the position in its changelogs, and stops if this contradicts the checkpoint."""

from __future__ import annotations

import pytest

from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.tail import Tail, complete_tail
from forebay.stores.memory import MemoryTable

HERE, OTHER = "c1", "c2"
OLDER, NEWER = TaskPosition(HERE, 7), TaskPosition(HERE, 9)


def tail(position: TaskPosition | None, rows: int = 0) -> Tail:
    table = MemoryTable()
    table.apply([(b"k%d" % number, b"v") for number in range(rows)], b"")
    return Tail("app-0-0", ChangelogRows({}, "internal"), 0, table, {}, position=position)


def test_a_task_that_never_committed_has_no_position() -> None:
    assert complete_tail("app-0-0", tail(None), None, HERE, restore=False) is None


def test_the_position_in_the_changelogs_takes_precedence_over_the_snapshot() -> None:
    assert complete_tail("app-0-0", tail(TaskPosition(HERE, 9)), TaskPosition(HERE, 7), HERE, False) == TaskPosition(
        HERE, 9
    )


def test_the_position_of_the_snapshot_is_used_if_no_commit_followed_it() -> None:
    assert complete_tail("app-0-0", tail(None, rows=3), TaskPosition(HERE, 7), HERE, False) == TaskPosition(HERE, 7)


def test_commits_of_another_checkpoint_stop_the_job() -> None:
    with pytest.raises(StateConflict, match=r"app-0-0: .* belongs to checkpoint c2, but checkpoint c1 is running"):
        complete_tail("app-0-0", tail(TaskPosition(OTHER, 9)), TaskPosition(HERE, 7), HERE, restore=False)


def test_a_restore_resumes_from_the_commits_of_another_checkpoint() -> None:
    assert complete_tail("app-0-0", tail(TaskPosition(OTHER, 9)), None, HERE, restore=True) == TaskPosition(OTHER, 9)


def test_changelogs_older_than_the_snapshot_stop_the_job() -> None:
    with pytest.raises(StateConflict, match="are at commit 5, the checkpoint's snapshot at 7"):
        complete_tail("app-0-0", tail(TaskPosition(HERE, 5)), TaskPosition(HERE, 7), HERE, restore=False)


def test_rows_without_a_position_stop_the_job() -> None:
    with pytest.raises(StateConflict, match="the internal changelog has no position for them"):
        complete_tail("app-0-0", tail(None, rows=1), None, HERE, restore=False)
