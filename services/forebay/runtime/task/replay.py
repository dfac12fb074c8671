"""Replays the changelogs of a group into its tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from forebay.runtime.protocol.snapshot_mark import NUMBER
from forebay.runtime.task.snapshot import Place
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail

log = logging.getLogger(__name__)


def replay_changelogs(
    name: str,
    tasks: Sequence[StateTask],
    offsets: Callable[[], Mapping[Place, Mapping[str, int]]],
    read: Callable[[list[Tail]], None],
    check: Callable[[StateTask, Tail], object],
    forget: Callable[[], None],
    *,
    is_too_old: bool,
) -> list[Tail]:
    """Bring the tables up to the last commit; return the tails that were read, in the order of the tasks.

    If deletes may be gone from the changelogs, they are read from the beginning. This is so if the snapshot is too old,
    or if its mark is gone (see `snapshot_mark`). The age alone does not suffice, because it is the difference of two
    workers' clocks. The mark alone does not suffice if `delete.retention.ms` was lowered in the meantime.

    Args:
        offsets: returns the offsets from which the changelogs complete each table.
        check: refuses changelogs that contradict the snapshot, before they replace it.
        forget: empties the tables and the offsets.
        is_too_old: whether the offsets are older than deletes are kept.
    """
    if is_too_old:
        log.warning(
            "%s: the snapshot is too old, so deletes may be gone from the changelogs: reading them from the beginning",
            name,
        )
        forget()
    tails = _tails(tasks, offsets())
    read(tails)
    if any(tail.may_lack_deletes for tail in tails):
        log.warning(
            "%s: the snapshot's mark is gone from the changelogs, so deletes may be gone, "
            "too: reading them from the beginning",
            name,
        )
        for task, tail in zip(tasks, tails, strict=True):
            check(task, tail)
        forget()
        tails = _tails(tasks, offsets())
        read(tails)
    return tails


def _tails(tasks: Sequence[StateTask], offsets: Mapping[Place, Mapping[str, int]]) -> list[Tail]:
    return [_tail(task, dict(offsets[task.place])) for task in tasks]


def _tail(task: StateTask, begins: dict[str, int]) -> Tail:
    mark = begins.pop(NUMBER, -1)
    foreign = begins.keys() - set(task.changelog_rows.topics)
    assert not foreign, f"{task.settings.name}: {foreign} would be replayed, which are not the task's changelogs"
    return Tail(task.settings.name, task.rows_as_written(), task.settings.number, task.table, begins, mark=mark)
