"""Progress of a producer: one updating line on a terminal, otherwise a line every 5 s."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

PLAIN_EVERY_S = 5.0
_LIVE_EVERY_S = 0.25


class Sending(Protocol):
    """A context manager that shows the progress of a producer."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def sent(self, count: int) -> None:
        """Record that `count` events were sent so far. It may be called at any rate."""
        ...

    def stopping(self) -> None:
        """Record that no more events will be sent. The broker may not have acknowledged all yet."""
        ...


class _Meter:
    """Turns counts into lines, at most one in `every_s` seconds."""

    def __init__(self, topic: str, every_s: float, clock: Callable[[], float]) -> None:
        self._topic = topic
        self._every_s = every_s
        self._clock = clock
        self._began = self._last = clock()
        self._last_count = 0

    def line(self, count: int) -> str | None:
        now = self._clock()
        passed = now - self._last
        if passed < self._every_s:
            return None
        rate = (count - self._last_count) / passed
        self._last, self._last_count = now, count
        return f"{self._topic}: {count:,} events, {rate:,.0f}/s, {now - self._began:.0f} s"


class PlainSending:
    """Prints a line every 5 s."""

    def __init__(self, console: Console, topic: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._meter = _Meter(topic, PLAIN_EVERY_S, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return

    def sent(self, count: int) -> None:
        """Print the progress, if the last line is at least 5 s old."""
        line = self._meter.line(count)
        if line is not None:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stopping(self) -> None:
        """Print nothing: the summary comes at the end."""


class LiveSending:
    """Updates one line of a terminal, and removes it at the end."""

    def __init__(self, console: Console, topic: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = Live(Text(f"{topic}: connecting"), console=console, auto_refresh=False, transient=True)
        self._meter = _Meter(topic, _LIVE_EVERY_S, clock)
        self._hint = "Ctrl-C to stop"

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def sent(self, count: int) -> None:
        """Show the progress, at most four times a second."""
        line = self._meter.line(count)
        if line is not None:
            self._live.update(Text(f"{line}   ({self._hint})"), refresh=True)

    def stopping(self) -> None:
        """Show that the command waits for the broker."""
        self._hint = "waiting for the broker, Ctrl-C cancels"


def sending_for(console: Console, topic: str) -> Sending:
    """Return an updating line for a terminal that can move its cursor, plain lines for anything else."""
    return LiveSending(console, topic) if console.is_interactive else PlainSending(console, topic)
