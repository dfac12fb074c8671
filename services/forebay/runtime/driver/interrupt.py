"""What Ctrl-C does stays what it was: starting Spark would make it break into the running batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_interrupt() -> Iterator[None]:
    """Put this process's SIGINT handler back after a SparkContext has set its own."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
