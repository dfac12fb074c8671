"""Files and directories that only their user can read: state, copies and logs hold records and error messages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UMASK = 0o077
_DIRECTORY = 0o700
_FILE = 0o600
_SYSTEMS_OWN = "/tmp"
_LONGEST_PARENT = 50


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


def make_socket_directory(prefix: str) -> str:
    """Make a directory for Unix sockets, and return its path, which is short enough for their names.

    The system takes about 100 bytes for a socket's path. Where the directory of temporary files has a longer one, the
    system's own is used.
    """
    chosen = tempfile.gettempdir()
    if len(os.fsencode(chosen)) > _LONGEST_PARENT and os.access(_SYSTEMS_OWN, os.W_OK | os.X_OK):
        chosen = _SYSTEMS_OWN
    return tempfile.mkdtemp(prefix=prefix, dir=chosen)


def make_private_file(path: Path) -> None:
    """Make an empty file that only its user can read. One that is there stays as it is."""
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, _FILE))
