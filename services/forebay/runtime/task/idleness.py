"""For how long a group's tasks have had nothing to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from forebay.runtime.task.ports import Reader
from forebay.runtime.task.state_task import StateTask

_OPEN_LOOK_SECONDS = 1.0


class Idleness:
    """Sets each task's idle time. A task that waits for another producer's open transaction is not idle."""

    def __init__(self, tasks: Iterable[StateTask], reader: Reader, monotonic: Callable[[], float]) -> None:
        self._reader = reader
        self._monotonic = monotonic
        self._quiet_since = dict.fromkeys((task.place for task in tasks), 0.0)
        self._opened_at = float("-inf")
        self.hidden: dict[tuple[str, int], int] = {}
        """Offsets behind a foreign transaction that is open, by input partition."""

    def begin(self, task: StateTask) -> None:
        """Count a task's idle time from now on."""
        self._quiet_since[task.place] = self._monotonic()

    def of(self, task: StateTask, *, may_idle: bool) -> int:
        """Return a task's idle time, ms. It begins when everything was read, where idle time passes at all."""
        now, place, idle_ms = self._monotonic(), task.place, 0
        if not task.input.is_caught_up or not may_idle:
            self._quiet_since[place] = now
        elif now > self._quiet_since[place]:
            # Rounded: the difference of two times may lack a bit of a whole ms.
            idle_ms = int(min(round((now - self._quiet_since[place]) * 1_000, 3), task.input.idle_ms))
        # Behind a foreign open transaction, records may wait that are already in the topic. If idle time passed, they
        # would be late.
        if idle_ms >= 1_000 and self._hides_records(task):
            self._quiet_since[place], idle_ms = now, 0
        return idle_ms

    def _hides_records(self, task: StateTask) -> bool:
        now = self._monotonic()
        # Two requests to the broker: an idle job must not send them in every cycle.
        if now - self._opened_at >= _OPEN_LOOK_SECONDS:
            self._opened_at = now
            self.hidden = self._reader.open_transactions()
        return any((partition.topic, partition.partition) in self.hidden for partition in task.input.partitions)
