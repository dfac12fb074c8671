"""A task's table on local disk, for state larger than memory: SQLite, rebuilt from the block log when in doubt."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from forebay.private import make_private_directory
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import NO_TAG, Change

_ROWS = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
_PUT = "INSERT INTO rows VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_FIRST_PAGE = 8
_LARGEST_PAGE = 1_000
_ROW_BYTES = 16


class DiskTable:
    """An ordered table on local disk, of this worker alone (implements `Table`).

    The state's checkpoint is what lasts, so nothing here is synced, no two processes share a file, and the file has no
    name once it is open: however the process ends, the disk space is released. After a failed `apply` the table has no
    tag; `clear` begins with a new file, so a disk that was full leaves no damage behind.

    Args:
        directory: where to make it; the system's temporary directory if empty.
        name: begins the name of the directory that the file is made in.
        cache_mb: memory for pages.
    """

    def __init__(self, directory: str, name: str, cache_mb: int = 64) -> None:
        self._base = Path(directory or tempfile.gettempdir())
        self._name = name
        self._cache = f"cache_size=-{cache_mb * 1024}"
        self._forget()
        make_private_directory(self._base)
        remove_leftovers(self._base, name)
        self._open_unnamed()

    def _forget(self) -> None:
        self._tag = NO_TAG
        self._bytes = 0
        self._count = 0
        self._sizes = StoreSizes()

    def _open_unnamed(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix=f"{self._name}-{os.getpid()}-", dir=self._base))
        try:
            self._open(folder / "rows.sqlite", "journal_mode=OFF", "locking_mode=EXCLUSIVE", self._cache)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _open(self, file: Path, *pragmas: str) -> None:
        # One thread at a time uses a table, but not always the same: a lease fills it, its loop works with it.
        self._db = sqlite3.connect(file, isolation_level=None, cached_statements=32, check_same_thread=False)
        for pragma in ("synchronous=OFF", *pragmas):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute(_ROWS)

    @property
    def tag(self) -> bytes:
        return self._tag

    @property
    def size_bytes(self) -> int:
        return self._bytes

    @property
    def footprint_bytes(self) -> int:
        return self._bytes + _ROW_BYTES * self._count

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        return self._sizes.of_stores()

    def __len__(self) -> int:
        return self._count

    def get(self, key: bytes) -> bytes | None:
        row = self._db.execute("SELECT value FROM rows WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for size in _pages():
            page = self._page(start, end, "ASC", size)
            yield from page
            if len(page) < size:
                return
            start = page[-1][0] + b"\0"

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for size in _pages():
            page = self._page(start, end, "DESC", size)
            yield from page
            if len(page) < size:
                return
            end = page[-1][0]

    def _page(self, start: bytes, end: bytes | None, order: str, size: int) -> list[tuple[bytes, bytes]]:
        condition, high = ("key >= ?", ()) if end is None else ("key >= ? AND key < ?", (end,))
        query = f"SELECT key, value FROM rows WHERE {condition} ORDER BY key {order} LIMIT ?"
        return self._db.execute(query, (start, *high, size)).fetchall()

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        self._tag = NO_TAG
        db, size, count, noted = self._db, self._bytes, self._count, self._sizes.add
        db.execute("BEGIN")
        for key, value in changes:
            row = db.execute("SELECT length(value) FROM rows WHERE key = ?", (key,)).fetchone()
            if row is not None:
                size -= len(key) + row[0]
                count -= 1
                noted(key, -1, -len(key) - row[0])
            if value is None:
                db.execute("DELETE FROM rows WHERE key = ?", (key,))
            else:
                db.execute(_PUT, (key, value))
                size += len(key) + len(value)
                count += 1
                noted(key, 1, len(key) + len(value))
        self._note(tag, size, count)
        db.execute("COMMIT")
        self._tag, self._bytes, self._count = tag, size, count

    def _note(self, tag: bytes, size: int, count: int) -> None:
        """Write down, within the transaction, where the table stands after it."""

    def clear(self) -> None:
        self._forget()
        self._db.close()
        self._open_unnamed()

    def close(self) -> None:
        self._db.close()


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


def _pages() -> Iterator[int]:
    """Yield the sizes of a scan's pages: small ones first, for many scans end after a row or two."""
    size = _FIRST_PAGE
    while True:
        yield size
        size = min(4 * size, _LARGEST_PAGE)
