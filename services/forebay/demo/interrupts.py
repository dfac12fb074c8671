"""Ctrl-C and SIGTERM: the first signal ends the demo cleanly, the next one speeds up the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from forebay.utils.flags import Flag

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context manager that handles both signals.

    The first signal sets `stop`, the next one sets `hurry`.
    """

    def __init__(self) -> None:
        self.stop = Flag()
        self.hurry = Flag()
        self._raising = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Make the first signal raise KeyboardInterrupt in this block, for code that does not check `stop`."""
        self._raising = True
        try:
            yield
        finally:
            self._raising = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        (self.hurry if self.stop.is_set() else self.stop).set()
        if self._raising:
            self._raising = False
            raise KeyboardInterrupt
