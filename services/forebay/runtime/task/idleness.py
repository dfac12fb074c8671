"""How long a group's tasks have been idle."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from forebay.runtime.task.ports import Reader
from forebay.runtime.task.state_task import StateTask

_ASK_SECONDS = 1.0


class Idleness:
    """Sets each task's idle time. A task is not idle while one of its partitions has records that it has not read.

    That no record has arrived does not prove that there is none: another producer's open transaction may hide it, the
    process may have been frozen, or the partition's leader may not answer the consumer. If idle time passed, the record
    would be late.
    """

    def __init__(self, tasks: Iterable[StateTask], reader: Reader, monotonic: Callable[[], float]) -> None:
        self._tasks = list(tasks)
        self._reader = reader
        self._monotonic = monotonic
        self._quiet_since = dict.fromkeys((task.place for task in self._tasks), 0.0)
        self._asked_at = float("-inf")
        self._ends: dict[tuple[str, int], int] = {}
        """Ends of the input partitions, open transactions included."""

    def begin(self, task: StateTask) -> None:
        """Restart a task's idle time."""
        self._quiet_since[task.place] = self._monotonic()

    def of(self, task: StateTask, *, may_idle: bool) -> int:
        """Return the time (ms) since a task has read everything; 0 if idle time does not pass."""
        now, place, idle_ms = self._monotonic(), task.place, 0
        if not task.input.is_caught_up or not may_idle:
            self._quiet_since[place] = now
        elif now > self._quiet_since[place]:
            # Rounded, because the difference of two times may be slightly less than a whole ms.
            idle_ms = int(min(round((now - self._quiet_since[place]) * 1_000, 3), task.input.idle_ms))
        if idle_ms >= 1_000 and self._has_unread(task):
            self._quiet_since[place], idle_ms = now, 0
        return idle_ms

    def _has_unread(self, task: StateTask) -> bool:
        now = self._monotonic()
        # A request to the broker: an idle job must not send it in every cycle.
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            partitions = [partition for item in self._tasks for partition in item.input.partitions]
            self._ends = self._reader.written_ends((partition.topic, partition.partition) for partition in partitions)
        ends = self._ends
        return any(ends.get((item.topic, item.partition), 0) > item.next for item in task.input.partitions)
