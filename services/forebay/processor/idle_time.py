"""The closing time of an idle task (see `Processor.idle`)."""

from __future__ import annotations

from forebay.processor.api import IdleClose
from forebay.processor.timers import NEVER


def idle_until(idle: IdleClose | None, stream_time: int, idle_ms: int) -> int:
    """Return the closing time (ms) of a task at `stream_time` that has been idle for `idle_ms`."""
    # Once `after_ms` have passed, time may jump to the horizon, because no record is expected that could be late.
    if idle is None or not 0 < idle.after_ms <= idle_ms:
        return stream_time + idle_ms
    return stream_time + max(idle_ms, idle.horizon_ms)


def next_due_ms(idle: IdleClose | None, stream_time: int, first: int) -> int | None:
    """Return the idle time (ms) after which a timer that is due at `first` fires, or None if it never fires."""
    # Before the first record there is no stream time to which idle time could be added.
    if stream_time < 0 or first >= NEVER:
        return None
    due = first - stream_time
    return due if idle is None or idle.after_ms <= 0 else min(due, idle.after_ms)
