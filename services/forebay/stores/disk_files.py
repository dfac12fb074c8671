"""The files of tables on disk: allocation of space, and removal of files of ended processes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

_FIRST_PAGE = 8
_LARGEST_PAGE = 1_000
_ZEROS = bytes(1 << 20)


def page_sizes() -> Iterator[int]:
    """Yield the numbers of rows that a scan reads at a time. They begin small, because many scans end early."""
    size = _FIRST_PAGE
    while True:
        yield size
        size = min(4 * size, _LARGEST_PAGE)


def allocate(file: int, before: int, size: int) -> None:
    """Allocate disk space for the bytes of a file from `before` to `size`. Raise OSError if the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, before, size - before)
        return
    # macOS has no such call. Write zeros, because nothing was written to these bytes yet.
    for at in range(before, size, len(_ZEROS)):
        os.pwrite(file, _ZEROS[: size - at], at)


def remove_leftovers(base: Path, name: str) -> None:
    """Remove directories of tables with this name whose process has ended. Releases up to 0.1 did not remove them."""
    pattern = re.compile(re.escape(name) + r"-(\d+)-\w{8}")
    for folder in base.iterdir():
        match = pattern.fullmatch(folder.name)
        if match is not None and not _is_another(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_another(process: int) -> bool:
    """Return whether a process is running and is not this one."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
