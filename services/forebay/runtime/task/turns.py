"""Computes the next commit of a group's tasks, within the limits of records and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forebay.processor.engine_settings import Bounds
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.idleness import Idleness
from forebay.runtime.task.shares import fair_shares
from forebay.runtime.task.state_task import StateTask

PROCESSING_SECONDS = 5.0
"""How long a group processes records for one commit.

Twice this time is less than a lease waits for its loop (`loop_calls.ANSWER_SECONDS`), so that slow logic holds up no
other group. A commit takes twice as long if one of its values can't be encoded.
"""


class Turns:
    """Computes the commits of a group's tasks, one task after another.

    Args:
        may_idle: whether idle time passes on idle topics.
    """

    def __init__(
        self,
        tasks: Sequence[StateTask],
        idleness: Idleness,
        clock: Callable[[], int],
        monotonic: Callable[[], float],
        *,
        may_idle: bool,
    ) -> None:
        self._tasks = tasks
        self._idleness = idleness
        self._clock = clock
        self._monotonic = monotonic
        self._may_idle = may_idle
        self.left_records = False
        """Whether the limits of the last commit left records in the queues, or rows of tables to send."""

    def compute(self, lease: Lease, most: int, seconds: float = PROCESSING_SECONDS) -> list[TaskCommit]:
        """Return the tasks' parts of the next commit, without tasks that have nothing to commit.

        Args:
            most: largest number of records of the commit.
            seconds: longest time to process records, if less than PROCESSING_SECONDS.
        """
        seconds = min(seconds, PROCESSING_SECONDS)
        suspect = next((task for task in self._tasks if task.suspicion.is_due), None)
        if suspect is not None:
            self.left_records = True
            commit = self._compute(suspect, lease, 1, Bounds(self._monotonic() + seconds, True, self._monotonic))
            if commit is not None:
                # Alone: if memory runs out again, no other record of the commit can be the cause.
                return [commit]
        waiting = [task.waiting for task in self._tasks]
        shares, commits, was_cut = fair_shares(most, waiting), [], False
        # With one record in the whole commit, no other record can be the cause.
        blames_memory = sum(shares) <= 1
        until, count = self._monotonic() + seconds, len(self._tasks)
        for index, task in enumerate(self._tasks):
            if task is suspect:
                continue
            now = self._monotonic()
            # An equal part of the remaining time, so that a slow task does not use the time of the tasks after it.
            bounds = Bounds(now + max(0.0, until - now) / (count - index), blames_memory, self._monotonic)
            commit = self._compute(task, lease, shares[index], bounds)
            if commit is not None:
                commits.append(commit)
                was_cut = was_cut or task.was_cut
        is_filling = any(task.engine.is_filling for task in self._tasks)
        self.left_records = bool(commits) and (was_cut or is_filling or sum(waiting) > most)
        assert len({commit.name for commit in commits}) == len(commits), "a task is in a commit twice"
        return commits

    def progress(self) -> object:
        """Return a value that changes whenever a task has processed another record or fired another timer."""
        return [task.engine.progress for task in self._tasks]

    def _compute(self, task: StateTask, lease: Lease, most: int, bounds: Bounds) -> TaskCommit | None:
        # A run with end offsets has no idle time, because its results must not depend on its duration.
        idle_ms = self._idleness.of(task, may_idle=self._may_idle and lease.until is None)
        with task.figures.time_phase("process"):
            return task.compute(lease, self._clock(), idle_ms, most, bounds)
