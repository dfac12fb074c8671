"""What all windows of time have in common, and what windows of your own derive from."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

FOREVER = (1 << 62) - 1
"""A time (ms) after every record's."""


class Window(NamedTuple):
    """An interval of time in ms; whether `end` belongs to it is its kind's affair."""

    start: int
    end: int


class Windows(abc.ABC):
    """Windows [start, end) of time, of equal or different lengths: Kafka Streams' `Windows`.

    Derive from it for windows of your own, for example calendar days in a time zone. Say which windows a record belongs
    to (`windows_for`) and how long the longest of them is (`size_ms`). Three rules make them windows:

    - The windows depend on the time alone: they are the same in every run.
    - A window's start names it, and belongs to it: `windows_for(start)` contains the window.
    - A window that starts later does not end earlier.
    """

    # Properties for type checkers, so that a field of a frozen dataclass may stand for either of them. At run time they
    # would be taken for the default values of such fields.
    if TYPE_CHECKING:

        @property
        def size_ms(self) -> int:
            """Length of the longest window, in ms."""
            ...

        @property
        def grace_ms(self) -> int:
            """How long after its end, in stream time, a window still accepts records, in ms; 0 by default."""
            ...

    else:
        grace_ms = 0

    @abc.abstractmethod
    def windows_for(self, ts: int) -> Sequence[Window]:
        """Return the windows that a record at `ts` (ms) belongs to, in order of their starts."""

    def window_from(self, start: int) -> Window:
        """Return the window that starts at `start`. Raises ValueError if none does."""
        for window in self.windows_for(start):
            if window.start == start:
                return window
        raise ValueError(f"{type(self).__name__}: windows_for({start}) has no window that starts at {start}: add it")

    @property
    def retention_ms(self) -> int:
        """Shortest retention of a store that holds these windows, in ms."""
        return self.size_ms + self.grace_ms

    def accepts(self, window: Window, now: int) -> bool:
        """Return whether a record may still change the window when the closing time is `now`."""
        return window.end > now - self.grace_ms

    def is_closed(self, window: Window, now: int) -> bool:
        """Return whether the window's result is final when the closing time is `now`."""
        return window.end <= now - self.grace_ms

    def closed_until(self, now: int) -> int:
        """Return the last end of a closed window when the closing time is `now`."""
        return now - self.grace_ms

    def closes_at(self, window: Window) -> int:
        """Return the closing time at which the window's result becomes final."""
        return window.end + self.grace_ms


def check_grace(grace_ms: int) -> None:
    """Refuse a negative grace."""
    if grace_ms < 0:
        raise ValueError(f"a grace of {grace_ms} ms: give at least 0 ms")
