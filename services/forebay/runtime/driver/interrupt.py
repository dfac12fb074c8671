"""Preserves the handler of Ctrl-C. Spark's own handler would interrupt the running batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_interrupt() -> Iterator[None]:
    """Restore this process's SIGINT handler after a SparkContext has set its own."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
