"""The checkpoint's place: writable, and held by one driver at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forebay.runtime.errors import StopJob

LOCK = ".forebay-lock"


@contextmanager
def held_checkpoint(path: str) -> Iterator[None]:
    """Hold a local checkpoint directory, made if need be; a URL is left to its file system.

    Raises:
        StopJob: it can't be written, or another process holds it.
    """
    if "://" in path:
        yield
        return
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        lock = (Path(path) / LOCK).open("wb")
    except OSError as error:
        raise StopJob(
            f"the checkpoint directory {path} can't be written ({error.strerror}): give one that can be (--checkpoint)"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StopJob(
                f"another job holds the checkpoint {path}: stop it first, or give this one an application id and a "
                "checkpoint of its own (--application)"
            ) from error
        yield
