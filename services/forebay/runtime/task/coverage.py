"""How much of the changelogs a group's tables hold for sure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forebay.runtime.changelog.stateformat import TaskSnapshot
from forebay.runtime.protocol.snapshot_mark import NUMBER
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.snapshot import Place
from forebay.runtime.task.state_task import StateTask

_ASK_MS = 60_000
"""How much older a snapshot is than those of a job that runs, and how far clocks may differ."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long changelogs keep deletes: a snapshot that is older can't be completed by a tail.

    Args:
        ask: asks the broker for the same, which an operator may have lowered since.
    """

    tombstone_ms: int = 86_400_000
    ask: Callable[[], int] | None = None


class Coverage:
    """The changelog offsets before which the tables of a group hold everything, and when these were learnt.

    Args:
        tasks: of the group.
    """

    def __init__(
        self,
        tasks: Iterable[StateTask],
        retention: Retention,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tasks = list(tasks)
        self._retention = retention
        self._clock = clock
        self._monotonic = monotonic
        self._offsets: dict[Place, dict[str, int]] = {task.place: {} for task in self._tasks}
        self.known_at, self._known_since = clock(), monotonic()
        """When the offsets were learnt, wall clock in ms."""
        self.is_incomplete = False
        """Whether the snapshots lack so much that all rows have to be put."""

    def offsets(self) -> dict[Place, dict[str, int]]:
        """Return from where the changelogs' tails complete what the tables hold, at least."""
        return {place: dict(offsets) for place, offsets in self._offsets.items()}

    def begin_with(self, snapshots: Iterable[TaskSnapshot | None]) -> None:
        """Take in from which snapshots the tables were filled, in the order of the tasks."""
        for task, snapshot in zip(self._tasks, snapshots, strict=True):
            if snapshot is None:
                self._offsets[task.place], self.is_incomplete = {}, True
            else:
                task.position = snapshot.position
                self._offsets[task.place] = dict(snapshot.offsets)
                self.known_at = min(self.known_at, snapshot.written_at)

    def note(self, task: StateTask, offsets: dict[str, int]) -> None:
        """Note up to where a task's table holds its changelogs."""
        self._offsets[task.place] = offsets

    def learn(self, known_at: int | None = None) -> None:
        """Note that all offsets were learnt at a moment of the wall clock (ms); None: now."""
        self.known_at = self._clock() if known_at is None else known_at
        self._known_since = self._monotonic()

    def clear(self) -> None:
        """Empty the tables, so that the changelogs are read from the beginning; at the next attempt, too."""
        self.is_incomplete = True
        for task in self._tasks:
            self._offsets[task.place] = {}
            task.table.clear()

    def is_too_old(self) -> bool:
        """Return whether deletes may be gone from the changelogs that were written since their offsets were learnt.

        Another worker's clock may be hours off. If it was ahead, only a snapshot with a mark can be trusted.
        """
        by_clock = self._clock() - self.known_at
        # The wall clock compares with the worker that wrote the snapshot. The monotonic clock also counts if this
        # worker's clock has been set back since.
        age = max(by_clock, int((self._monotonic() - self._known_since) * 1_000))
        retention_ms = self._retention.tombstone_ms
        if age > _ASK_MS and self._retention.ask is not None:
            retention_ms = min(retention_ms, self._retention.ask())
        has_no_mark = any(offsets and NUMBER not in offsets for offsets in self._offsets.values())
        return age > retention_ms // 2 or (by_clock < -_ASK_MS and has_no_mark)
