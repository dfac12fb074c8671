"""Decides when a task announces its time to downstream tasks: no more often than they can use it."""

from __future__ import annotations

import time
from collections.abc import Callable

from forebay.runtime.protocol.times import TaskTime

# Each task announces its time to every task of the next sub-topology, so a round has tasks x tasks messages.
_MESSAGES_PER_SECOND = 4_000
_AT_A_START = 2
"""Announcements that a task makes in its first commits."""


def idle_interval(tasks: int) -> float:
    """Return the interval (s) between announcements of a task that has caught up; it grows with the number of tasks."""
    return max(1.0, tasks * tasks / _MESSAGES_PER_SECOND)


class Announcer:
    """The last announcement, and whether a new one is due.

    A reader waits for a task that has not caught up, so the task announces each advance of its time. Once it has caught
    up, it repeats the announcement at an interval: a reader that has just started ignores earlier announcements, and a
    reader that receives none must assume that the task does not run. A task that has just started announces its time in
    two commits, because a reader relies on an announcement only after the next one (see `SenderStream`).

    Intervals begin at the same moments for all tasks of a process, so that the tasks of a group repeat theirs in one
    commit. Otherwise an idle group would commit in every cycle.

    Args:
        interval: seconds between two messages of a task that has caught up.
    """

    def __init__(self, interval: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Reset to the state before the first announcement."""
        self.last = TaskTime()
        self._announced_in = -1
        self._missing = _AT_A_START

    def is_due(self, now: TaskTime) -> bool:
        """Return whether the next sub-topologies need an announcement."""
        last = self.last
        # A change of state matters to readers at once: they wait for a task that is behind, and not for one that has
        # caught up.
        if self._missing or last.caught_up != now.caught_up or last.done != now.done:
            return True
        if not now.caught_up:
            # Readers wait for this task, so each advance of its time may let them continue.
            return now.stream_time != last.stream_time
        # A reader adds no more idle time than its senders have announced. If it learned of the end of the idle time too
        # late, its closing time would advance too far.
        if not now.idle_ms and last.idle_ms > 0:
            return True
        return self._interval_number() != self._announced_in

    def _interval_number(self) -> int:
        # By the clock, not by the last announcement, so that all tasks of a process repeat theirs in the same commit.
        return int(self._clock() // self._interval)

    def note_announcement(self, time: TaskTime) -> None:
        """Record the time that a commit announced."""
        self.last, self._announced_in, self._missing = time, self._interval_number(), max(0, self._missing - 1)
