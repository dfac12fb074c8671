"""The base class of time windows, from which custom windows can be derived."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import date, timedelta, tzinfo
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

FOREVER = (1 << 62) - 1
"""A time (ms) after that of every record."""

_NOT_IN_ROWS = frozenset({"grace_ms", "retention_ms"})
"""Attributes that do not change the windows of a timestamp."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


class Window(NamedTuple):
    """A time interval in ms. Whether `end` is inclusive depends on the type of windows."""

    start: int
    end: int


class Windows(abc.ABC):
    """Windows [start, end) of equal or different lengths (Kafka Streams' `Windows`).

    Derive from this class to define custom windows, for example calendar days in a time zone. Implement
    `windows_for`, which assigns a timestamp to windows, and `size_ms`, the length of the longest window. Windows must
    obey three rules:

    - The windows depend on the timestamp alone. They are the same in every run.
    - A window is identified by its start and contains it: `windows_for(start)` returns the window.
    - A window that starts later does not end earlier.
    """

    # These are properties for type checkers only, so that a field of a frozen dataclass may implement them. At run
    # time, they would be used as default values of such fields.
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
        """Return the windows that contain the timestamp `ts` (ms), sorted by start."""

    def window_from(self, start: int) -> Window:
        """Return the window that starts at `start`. Raise ValueError if no window starts there."""
        for window in self.windows_for(start):
            if window.start == start:
                return window
        raise ValueError(f"{type(self).__name__}: windows_for({start}) has no window that starts at {start}: add it")

    @property
    def identity(self) -> str:
        """Identity of the windows, which a store records with their results. It refuses other windows for its rows.

        By default, it is the name of the class with its public attributes that are texts, numbers, time zones,
        durations, dates, members of enums, or tuples of these. The grace period is left out, because it does not change
        the windows, and so are cached properties.
        """
        named = sorted(_attributes_of(self).items())
        known = [f"{name}={value!r}" for name, value in named if name not in _NOT_IN_ROWS and _has_one_text(value)]
        return f"{type(self).__name__}({', '.join(known)})"

    @property
    def retention_ms(self) -> int:
        """Shortest retention of a store that holds these windows, in ms."""
        return self.size_ms + self.grace_ms

    def accepts(self, window: Window, now: int) -> bool:
        """Return whether a record may still change the window at the closing time `now`."""
        # `end` is exclusive, so the window is closed at exactly end + grace. Sessions and sliding windows close one ms
        # later.
        return window.end > now - self.grace_ms

    def is_closed(self, window: Window, now: int) -> bool:
        """Return whether the window's result is final at the closing time `now`."""
        return window.end <= now - self.grace_ms

    def closed_until(self, now: int) -> int:
        """Return the last end of a window that is closed at the closing time `now`."""
        return now - self.grace_ms

    def closes_at(self, window: Window) -> int:
        """Return the closing time at which the window's result becomes final."""
        return window.end + self.grace_ms


def _attributes_of(windows: object) -> dict[str, Any]:
    """Return the public attributes of an object."""
    names = [field.name for field in fields(windows)] if is_dataclass(windows) else [*getattr(windows, "__dict__", ())]
    # A cached property is an attribute only after it was read, so the identity must not depend on it.
    return {
        name: getattr(windows, name)
        for name in names
        if not name.startswith("_") and not isinstance(getattr(type(windows), name, None), cached_property)
    }


def _has_one_text(value: object) -> bool:
    """Return whether the text of a value is the same in every process. That of a function or set is not."""
    if isinstance(value, tuple):
        return all(map(_has_one_text, value))
    known = value is None or isinstance(value, str | int | float | timedelta | date | tzinfo | Enum)
    # The text of a time zone of a user's class, or of an enum's member whose value is an object, may have an address.
    return known and not _ADDRESS.search(repr(value))


def check_grace(grace_ms: int) -> None:
    """Raise ValueError if the grace is negative."""
    if grace_ms < 0:
        raise ValueError(f"a grace of {grace_ms} ms: specify at least 0 ms")
