"""Files and directories that only their user can read: state, copies and logs hold records and error messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UMASK = 0o077
_DIRECTORY = 0o700
_FILE = 0o600


@contextmanager
def private_files() -> Iterator[None]:
    """Make everything that this process and those it starts make meanwhile private (0700, 0600)."""
    before = os.umask(UMASK)
    try:
        yield
    finally:
        os.umask(before)


def make_private_directory(path: Path) -> None:
    """Make a directory that only its user can enter, and what is missing above it. One that is there stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=_DIRECTORY, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Make an empty file that only its user can read. One that is there stays as it is."""
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, _FILE))
