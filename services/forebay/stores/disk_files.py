"""The files of tables on disk: their space, and what ended processes left behind."""

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
    """Yield the numbers of rows that a scan reads at a time: few first, for many scans end after a row or two."""
    size = _FIRST_PAGE
    while True:
        yield size
        size = min(4 * size, _LARGEST_PAGE)


def allocate(file: int, before: int, size: int) -> None:
    """Allocate disk space for the bytes of a file from `before` to `size`. Raises OSError: the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, before, size - before)
        return
    # macOS has no such call. Nothing was written to these bytes yet.
    for at in range(before, size, len(_ZEROS)):
        os.pwrite(file, _ZEROS[: size - at], at)


def remove_leftovers(base: Path, name: str) -> None:
    """Remove directories of tables of that name whose process has ended: releases up to 0.1 left them behind."""
    pattern = re.compile(re.escape(name) + r"-(\d+)-\w{8}")
    for folder in base.iterdir():
        match = pattern.fullmatch(folder.name)
        if match is not None and not _is_another(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_another(process: int) -> bool:
    """Return whether it is a process that lives, and not this one."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
