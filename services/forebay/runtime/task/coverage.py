"""How much of its changelogs a group's tables are known to contain."""

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
"""Age above that of a running job's snapshots, from which the broker is asked; also the tolerated clock difference."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long changelogs keep deletes. A changelog replay can't complete an older snapshot.

    Args:
        ask: reads the current value from the broker, because an operator may have lowered it.
    """

    tombstone_ms: int = 86_400_000
    ask: Callable[[], int] | None = None


class Coverage:
    """The changelog offsets up to which a group's tables are complete, and when these offsets were read.

    Args:
        tasks: tasks of the group.
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
        """When the offsets were read, wall clock in ms."""
        self.is_incomplete = False
        """Whether the next snapshot must write all rows, because earlier blocks can't be relied on."""

    def offsets(self) -> dict[Place, dict[str, int]]:
        """Return the offsets from which a changelog replay completes the tables, by place and topic."""
        return {place: dict(offsets) for place, offsets in self._offsets.items()}

    def begin_with(self, snapshots: Iterable[TaskSnapshot | None]) -> None:
        """Take positions and offsets from the snapshots that filled the tables, in the order of the tasks."""
        for task, snapshot in zip(self._tasks, snapshots, strict=True):
            if snapshot is None:
                self._offsets[task.place], self.is_incomplete = {}, True
            else:
                task.position = snapshot.position
                self._offsets[task.place] = dict(snapshot.offsets)
                # The oldest snapshot counts, because the changelogs of all tasks are replayed together.
                self.known_at = min(self.known_at, snapshot.written_at)

    def note(self, task: StateTask, offsets: dict[str, int]) -> None:
        """Record the offsets up to which a task's table contains its changelogs."""
        self._offsets[task.place] = offsets

    def learn(self, known_at: int | None = None) -> None:
        """Record when all offsets were read (wall clock, ms); None: now."""
        self.known_at = self._clock() if known_at is None else known_at
        self._known_since = self._monotonic()

    def clear(self) -> None:
        """Empty the tables, so that this attempt and later ones read the changelogs from the beginning."""
        self.is_incomplete = True
        for task in self._tasks:
            self._offsets[task.place] = {}
            task.table.clear()

    def is_too_old(self) -> bool:
        """Return whether deletes written after the offsets may already be gone from the changelogs.

        Another worker's clock may be hours off. If it was ahead, only a snapshot with a mark can be trusted.
        """
        by_clock = self._clock() - self.known_at
        # The wall clock measures the time since another worker wrote the snapshot. The monotonic clock covers the case
        # that this worker's wall clock was set back in the meantime.
        age = max(by_clock, int((self._monotonic() - self._known_since) * 1_000))
        retention_ms = self._retention.tombstone_ms
        if age > _ASK_MS and self._retention.ask is not None:
            retention_ms = min(retention_ms, self._retention.ask())
        has_no_mark = any(offsets and NUMBER not in offsets for offsets in self._offsets.values())
        return age > retention_ms // 2 or (by_clock < -_ASK_MS and has_no_mark)
