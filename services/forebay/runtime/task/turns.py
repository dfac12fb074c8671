"""What each task of a group adds to the next commit, within the commit's limits of records and time."""

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

It is less than a lease waits for its loop (`loop_calls.ANSWER_SECONDS`), so that slow logic holds up no other group:
even if a commit takes twice as long, since a value in it can't be encoded.
"""


class Turns:
    """Gives the tasks of a group their turns.

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
        self.goes_on = False
        """Whether more waits than the last commit could take."""

    def compute(self, lease: Lease, most: int, seconds: float = PROCESSING_SECONDS) -> list[TaskCommit]:
        """Return what has to be committed: nothing of a task that has nothing.

        Args:
            most: records that the commit may have.
            seconds: how long records may be processed, if that is less than for every commit.
        """
        seconds = min(seconds, PROCESSING_SECONDS)
        suspect = next((task for task in self._tasks if task.suspicion.is_due), None)
        if suspect is not None:
            self.goes_on = True
            commit = self._compute(suspect, lease, 1, Bounds(self._monotonic() + seconds, True, self._monotonic))
            if commit is not None:
                # Alone: if memory runs out again, no other record of the commit can be the cause.
                return [commit]
        waiting = [task.input.waiting for task in self._tasks]
        shares, commits, was_cut = fair_shares(most, waiting), [], False
        # With one record in the whole commit, no other record can be the cause.
        blames_memory = sum(shares) <= 1
        until, count = self._monotonic() + seconds, len(self._tasks)
        for index, task in enumerate(self._tasks):
            if task is suspect:
                continue
            now = self._monotonic()
            # An equal part of the remaining time, so that a slow task does not take the turns of the tasks behind it.
            bounds = Bounds(now + max(0.0, until - now) / (count - index), blames_memory, self._monotonic)
            commit = self._compute(task, lease, shares[index], bounds)
            if commit is not None:
                commits.append(commit)
                was_cut = was_cut or task.was_cut
        self.goes_on = bool(commits) and (was_cut or sum(waiting) > most)
        assert len({commit.name for commit in commits}) == len(commits), "a task is in a commit twice"
        return commits

    def progress(self) -> object:
        """Return what differs once a task has processed another record or fired another timer."""
        return [task.engine.progress for task in self._tasks]

    def _compute(self, task: StateTask, lease: Lease, most: int, bounds: Bounds) -> TaskCommit | None:
        # A run with end offsets has no idle time: its results must not depend on how long it takes.
        idle_ms = self._idleness.of(task, may_idle=self._may_idle and lease.until is None)
        with task.figures.time_phase("process"):
            return task.compute(lease, self._clock(), idle_ms, most, bounds)
