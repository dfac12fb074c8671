"""Forwards the stderr of Spark's JVM, without lines that do not help an operator."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOGGING = Path(__file__).with_name("log4j2.properties")
"""Logging configuration of Spark's JVMs."""

_NOISE = (
    "WARNING: Using incubator modules",
    "Setting default log level",
    "To adjust logging level use",
    "Using Spark's default log4j profile",
)


@contextmanager
def filtered_stderr() -> Iterator[int]:
    """Yield a stderr for a process that is started in the block: a filter in front of this process's stderr."""
    reading, writing = os.pipe()
    threading.Thread(target=_pass_on, args=(reading, os.dup(2)), name="jvm-stderr", daemon=True).start()
    try:
        yield writing
    finally:
        os.close(writing)


def _pass_on(reading: int, own: int) -> None:
    with os.fdopen(reading, "r", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith(_NOISE):
                os.write(own, line.encode())
