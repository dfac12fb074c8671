"""The checkpoint's directory, which must be writable, and which only one driver at a time may hold."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from forebay.runtime.driver.jvmlock import LOCK as JVM_LOCK
from forebay.runtime.errors import StopJob
from forebay.utils.private import make_private_directory

LOCK = ".forebay-lock"


def is_begun(path: str) -> bool:
    """Return whether a local checkpoint holds batches; False for a URL, where this is unknown."""
    return "://" not in path and any((Path(path) / "offsets").glob("[0-9]*"))


def may_be_begun(path: str) -> bool:
    """Return whether a checkpoint holds batches, or is a URL, of which this is unknown."""
    return "://" in path or is_begun(path)


def set_aside(path: str) -> str:
    """Rename a local checkpoint that holds batches; return its new name, or "" if it does not exist.

    Raises:
        StopJob: the checkpoint is a URL, which can't be renamed.
    """
    if "://" in path:
        raise StopJob(
            f"{path} is a URL and can't be renamed: use --checkpoint with a new URL, and run the job with it "
            "from then on"
        )
    if not is_begun(path):
        return ""
    place = Path(path)
    number = next(n for n in count(1) if not place.with_name(f"{place.name}.old-{n}").exists())
    aside = place.with_name(f"{place.name}.old-{number}")
    make_private_directory(aside)
    for entry in list(place.iterdir()):
        if entry.name not in (LOCK, JVM_LOCK):
            entry.rename(aside / entry.name)
    return str(aside)


@contextmanager
def held_checkpoint(path: str) -> Iterator[None]:
    """Hold the lock of a local checkpoint directory, which is created if needed. A URL is not locked.

    Raises:
        StopJob: the directory can't be written, or another process holds its lock.
    """
    if "://" in path:
        yield
        return
    try:
        make_private_directory(Path(path))
        lock = (Path(path) / LOCK).open("wb")
    except OSError as error:
        raise StopJob(
            f"the checkpoint directory {path} can't be written ({error.strerror}): use another one (--checkpoint)"
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
