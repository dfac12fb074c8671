"""Ctrl-C and SIGTERM as a flag that a command checks instead of an exception."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from forebay.utils.flags import Flag

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets. A second signal acts as it did before the block."""
    stop = Flag()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def request(number: int, frame: FrameType | None) -> None:
        stop.set()
        # Restore the handlers at the first signal, so that a second Ctrl-C ends a process that does not stop.
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)

    for number in _SIGNALS:
        signal.signal(number, request)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt. The first process of a container ignores SIGTERM by default."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
