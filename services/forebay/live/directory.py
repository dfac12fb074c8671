"""The directory of an engine on this machine, which only one engine at a time may use."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forebay.utils.private import make_private_directory


class EngineRuns(Exception):
    """An engine of this name runs on this machine already."""


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Create and lock a directory while the block runs. Raises EngineRuns if another process has locked it."""
    make_private_directory(directory)
    with (directory / ".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineRuns(
                f"an engine holds {directory} already: send statements to it with `forebay sql`, or start this one "
                "under another name"
            ) from error
        yield
