"""What Spark's JVM writes to stderr: passed on, but for lines that tell an operator nothing."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    "WARNING: Using incubator modules",
    "Setting default log level",
    "To adjust logging level use",
    "Using Spark's default log4j profile",
    "Starting Streaming TransformWithState",
    "Streaming TransformWithState",
)


@contextmanager
def quiet_children() -> Iterator[None]:
    """Let processes started inside write their stderr through a filter; this process's own stays as it is."""
    sys.stderr.flush()
    own = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    threading.Thread(target=_pass_on, args=(reading, own), name="jvm-stderr", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(own, 2)


def _pass_on(reading: int, own: int) -> None:
    with os.fdopen(reading, "r", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith(_NOISE):
                os.write(own, line.encode())
