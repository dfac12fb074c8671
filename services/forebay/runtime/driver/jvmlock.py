"""Spark's JVM holds the checkpoint as well: it writes there, and may survive its driver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from forebay.runtime.errors import StopJob

log = logging.getLogger(__name__)

LOCK = ".forebay-jvm-lock"
WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.2


@contextmanager
def held_by_jvm(
    jvm: Any, checkpoint: str, pause: Callable[[float], None], seconds: float = WAIT_SECONDS
) -> Iterator[None]:
    """Hold a local checkpoint by Spark's JVM until the block ends or the JVM does; a URL is left to its file system.

    A driver that is killed gives its own lock back at once. Its JVM notices the driver's end and goes, but where it was
    frozen or starved it may write an offset or a commit first.

    Args:
        jvm: Py4J's view of the JVM.
        pause: waits for some seconds.
        seconds: how long to wait for an earlier driver's JVM to go.

    Raises:
        StopJob: it did not.
    """
    if "://" in checkpoint:
        yield
        return
    channel = jvm.java.io.RandomAccessFile(str(Path(checkpoint) / LOCK), "rw").getChannel()
    try:
        _take(channel, checkpoint, pause, seconds)
        yield
    finally:
        with suppress(Py4JError, OSError):
            channel.close()


def _take(channel: Any, checkpoint: str, pause: Callable[[float], None], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    logged = False
    while channel.tryLock() is None:
        if time.monotonic() > deadline:
            raise StopJob(
                f"the JVM of an earlier driver holds the checkpoint {checkpoint} and still runs after {seconds:.0f} s: "
                "end that java process, then start the job again"
            )
        if not logged:
            logged = True
            log.warning("the JVM of an earlier driver still holds the checkpoint %s: waiting until it ends", checkpoint)
        pause(_POLL_SECONDS)
