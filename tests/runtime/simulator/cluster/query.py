"""Model of Spark's query, with a log of offsets, and a task for each lease that is attempted up to four times."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from forebay.runtime.protocol.lease import SENTINEL, Lease, LeaseOffset
from forebay.runtime.spark.planner import LeasePlanner
from tests.runtime.simulator.cluster.process import Attempt, Process

ATTEMPTS = 4
"""Largest number of attempts of a task, after which its query fails."""


@dataclass
class Checkpoint:
    """Spark's logs of a checkpoint: planned offsets, and finished batches."""

    offsets: dict[int, str] = field(default_factory=dict)
    commits: set[int] = field(default_factory=set)


class QueryFailed(Exception):
    """The query has failed. The driver restarts it."""


@dataclass
class Task:
    """A task of the running batch."""

    lease: Lease
    attempt: Attempt | None = None
    failures: int = 0
    is_done: bool = False


class Query:
    """The query of one driver, from its start to its end.

    Args:
        place: Returns an idle worker process, or None if there is no executor.
        on_batch: Called with the reports of the tasks and the number of a Spark batch when its tasks have ended.
    """

    def __init__(
        self,
        spec: Any,
        checkpoint: Checkpoint,
        planner: LeasePlanner,
        place: Callable[[], Process | None],
        on_batch: Callable[[Any, int], None],
    ) -> None:
        self._spec = spec
        self._checkpoint = checkpoint
        self._planner = planner
        self._place = place
        self._on_batch = on_batch
        self._planned = ""
        self.batch = -1
        self.is_over = False
        """Whether there is nothing left to plan."""
        self.tasks: list[Task] = []

    def step(self) -> None:
        """Plan a batch, or run its tasks. Raises QueryFailed, StopJob."""
        if not self.tasks:
            self._begin()
        if self.is_over:
            return
        for task in self.tasks:
            self._run(task)
        if all(task.is_done for task in self.tasks):
            attempts = [task.attempt for task in self.tasks if task.attempt is not None]
            rows = [{"result": attempt.result.to_json()} for attempt in attempts if attempt.result is not None]
            self._on_batch(SimpleNamespace(collect=lambda: rows), self.batch)
            self._checkpoint.commits.add(self.batch)
            self.tasks = []

    def _begin(self) -> None:
        log = self._checkpoint
        batch = max(log.offsets, default=-1)
        if batch < 0 or batch in log.commits:
            batch += 1
            before = self._offset(batch - 1)
            planned = json.dumps(self._planner.plan(before))
            if planned == json.dumps(before):
                self.is_over = True
                return
            if batch in log.offsets:
                raise QueryFailed("another query has written this batch")
            log.offsets[batch] = self._planned = planned
        offset = LeaseOffset.from_json(json.loads(log.offsets[batch]))
        assert offset is not None
        if log.offsets[batch] != self._planned:
            self._planner.check_topics(offset)
        self.batch = batch
        self.tasks = [Task(Lease.from_json(lease.to_json())) for lease in offset.leases(self._planner.whole)]

    def _offset(self, batch: int) -> dict[str, Any]:
        offset: dict[str, Any] = json.loads(self._checkpoint.offsets[batch]) if batch >= 0 else dict(SENTINEL)
        return offset

    def _run(self, task: Task) -> None:
        attempt = task.attempt
        if attempt is not None:
            process = attempt.process
            if not process.worker.is_alive or not process.host.is_alive or process.host.is_lost:
                # Spark knows why it lost the executor, and does not count this.
                task.attempt = attempt = None
            elif attempt.is_done and attempt.failure is None:
                task.is_done = True
                return
            elif attempt.is_done:
                task.failures += 1
                task.attempt = None
                if task.failures == ATTEMPTS:
                    raise QueryFailed(str(attempt.failure)) from attempt.failure
        if task.attempt is None and not task.is_done:
            place = self._place()
            if place is not None:
                task.attempt = Attempt(self._spec, task.lease, place)
