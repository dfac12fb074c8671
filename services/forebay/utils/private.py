"""Files and directories that only their user can read, because state, copies and logs contain records."""

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
    """Make all files and directories private (0600, 0700) that this process and its children create in the block."""
    before = os.umask(UMASK)
    try:
        yield
    finally:
        os.umask(before)


def make_private_directory(path: Path) -> None:
    """Create a directory that only its user can enter, and missing parents. An existing one is not changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=_DIRECTORY, exist_ok=True)


def make_socket_directory(prefix: str) -> str:
    """Create a directory for Unix sockets and return its path, which is short enough for their names.

    The system limits a socket's path to about 100 bytes. If the path of the directory of temporary files is too long,
    the system's own one is used.
    """
    chosen = tempfile.gettempdir()
    if len(os.fsencode(chosen)) > _LONGEST_PARENT and os.access(_SYSTEMS_OWN, os.W_OK | os.X_OK):
        chosen = _SYSTEMS_OWN
    return tempfile.mkdtemp(prefix=prefix, dir=chosen)


def make_private_file(path: Path) -> None:
    """Create an empty file that only its user can read. An existing file is not changed."""
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, _FILE))
