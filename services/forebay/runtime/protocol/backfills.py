"""Checkpoint ids of positions that a backfill wrote. No checkpoint of Spark has such an id."""

from __future__ import annotations

from collections.abc import Collection

from forebay.runtime.errors import StopJob
from forebay.runtime.protocol.position import TaskPosition

FINISHED = "backfilled"
"""Checkpoint of positions from which a job continues."""
_UNFINISHED = "backfill-"


def backfill_checkpoint(digest: str) -> str:
    """Return the checkpoint of a backfill that has not finished; `digest` identifies its history."""
    return f"{_UNFINISHED}{digest}"


def is_finished(application: str, positions: Collection[TaskPosition]) -> bool:
    """Return whether a backfill wrote these positions, and no job has continued from them.

    Raises:
        StopJob: the backfill has not finished.
    """
    # One unfinished task is enough: its state covers only a part of the history, and a job would skip the rest.
    if any(position.checkpoint.startswith(_UNFINISHED) for position in positions):
        raise StopJob(
            f"{application}: a backfill is not complete: run the same `forebay backfill` again, and it resumes; or "
            "`forebay reset` deletes what it wrote"
        )
    return bool(positions) and all(position.checkpoint == FINISHED for position in positions)


def refuse_other_positions(application: str, positions: Collection[TaskPosition], checkpoint: str) -> None:
    """Refuse a backfill of an application that has read records, unless the same backfill has read them.

    Raises:
        StopJob: names the remedy.
    """
    # Positions of the same backfill are of an earlier attempt, which this attempt resumes.
    others = sorted({position.checkpoint for position in positions if position.checkpoint != checkpoint})
    if not others:
        return
    if others[0].startswith(_UNFINISHED):
        what = "a backfill of another history began: run it again with the DataFrames that it began with, or run "
    elif others == [FINISHED]:
        what = "a backfill has finished: `forebay run` continues from it. To backfill again, run "
    else:
        what = "the job has processed records already. A backfill must come before all of them. To backfill, run "
    raise StopJob(f"{application}: {what}`forebay reset` (with --outputs, if outputs must not appear twice) first")
