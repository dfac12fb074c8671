"""A backfill in a worker: a task group that reads its inputs from rows, up to the last one."""

from __future__ import annotations

from collections.abc import Iterator

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.history import HistoryReader, HistoryRow
from forebay.runtime.task.snapshot import GroupStorage
from forebay.runtime.task.statistics import TaskFigures
from forebay.runtime.worker.build import build_group

_CYCLE_SECONDS = 0.1


def backfill_group(spec: JobSpec, lease: Lease, storage: GroupStorage, rows: Iterator[HistoryRow]) -> list[TaskFigures]:
    """Process the history of a group's tasks as the loop processes live records; return the tasks' statistics.

    A repeated call continues from the last commit: records that were processed are skipped.

    Args:
        storage: without snapshots, because the changelogs contain all of a backfill's state.
        rows: sorted (see `HistoryRow`).

    Raises:
        Unavailable: call it again, with all rows. StopJob: an operator has to act.
    """
    group = build_group(spec, lease, storage, lambda broker: HistoryReader(rows, broker)).group
    try:
        group.open(lease)
        while not group.is_done(lease):
            if not group.is_open:
                # Opening the group again would require rows that were already read.
                raise Unavailable(
                    f"{group.settings.name}: the client repeated a commit: the group must be opened again"
                )
            group.cycle(lease, _CYCLE_SECONDS)
        # The marker group then has the final offsets, which the check of ownership at the job's first start reads.
        group.mark()
        return [task.figures for task in group.tasks]
    finally:
        group.close()
