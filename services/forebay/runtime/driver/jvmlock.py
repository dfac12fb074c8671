"""The lock of Spark's JVM on the checkpoint, because the JVM writes there, and may survive its driver."""

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
    """Have Spark's JVM lock a local checkpoint until the block or the JVM ends. A URL is not locked.

    When a driver is killed, its own lock is released at once. Its JVM notices the driver's end and exits, but if it was
    frozen or starved, it may write an offset or a commit before that.

    Args:
        jvm: Py4J's view of the JVM.
        pause: waits for some seconds.
        seconds: how long to wait for the exit of an earlier driver's JVM.

    Raises:
        StopJob: the earlier JVM did not exit.
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
