"""A task's table on local disk, for state larger than memory, in LMDB."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb

from forebay.codec import Unavailable
from forebay.stores.disk_files import allocate, page_sizes, remove_leftovers
from forebay.stores.long_keys import LONG, rows_of, seek_key, write_long_row
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import NO_TAG, Change
from forebay.utils.private import make_private_directory

_ROW_BYTES = 16
_FIRST_BYTES = 1 << 20
_LARGEST_BUFFER = 4 << 20
_WRITTEN_AT_ONCE = 10_000
"""LMDB bounds a transaction to 131,071 changed pages. A row changes a few."""
_WAITING_ROW_BYTES = 200
"""Bytes that a row in the buffer uses in addition to its key and its value."""
_FILE_PAGE_BYTES = 4096
_MISSING: Any = object()


class DiskUnavailable(Unavailable):
    """A table's file can't be created, or can't grow. No record is at fault, so the commit fails and is retried."""


class DiskTable:
    """An ordered table on local disk, which only this worker uses (implements `Table`).

    The table can be rebuilt from the changelogs, so nothing is synced. No two processes share a file. The file has no
    name once it is open, so that its disk space is released however the process ends. After a failed `apply`, the table
    has no tag. `clear` begins with a new file, so that a disk that was full leaves no damage.

    Changed rows are buffered, so that a row that changes again is replaced in the buffer. A full buffer is written in
    the order of the keys. The file is mapped into memory. Its disk space is allocated before the mapping grows, because
    a write to mapped memory without disk space would kill the process.

    Args:
        directory: Directory of the file; "": the system's temporary directory.
        name: Prefix of the name of the subdirectory in which the file is created.
        memory_bytes: Maximum memory for mapped pages of the file. The buffer uses at most 1/32 of it, and at most 4 MB.
    """

    def __init__(self, directory: str, name: str, memory_bytes: int = 256 << 20) -> None:
        self._base = Path(directory or tempfile.gettempdir())
        self._name = name
        self._most_mapped = memory_bytes
        self._most_waiting = min(self._most_mapped // 32, _LARGEST_BUFFER)
        # If a process was killed before it removed its file's name, its directory is still there.
        make_private_directory(self._base)
        remove_leftovers(self._base, name)
        self._forget()
        self._open_unnamed()

    def _forget(self) -> None:
        self._tag = NO_TAG
        self._bytes = self._count = 0
        self._sizes = StoreSizes()
        self._waiting: dict[bytes, bytes | None] = {}
        self._waiting_bytes = 0
        self._lengths: dict[bytes, int] = {}
        """Lengths of the values that were read since the last `apply`; -1: there is no row."""
        self._is_empty = True
        self._touched, self._mapped_bytes = 0, _FIRST_BYTES

    def _open_unnamed(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix=f"{self._name}-{os.getpid()}-", dir=self._base))
        file = folder / "rows.lmdb"
        try:
            # No lock, because no other process has the file. No sync, because the changelogs have all rows. Write
            # through the mapping, because `pwrite` needs 1.5 times as much CPU time.
            self._env = lmdb.open(
                str(file), _FIRST_BYTES, subdir=False, lock=False, sync=False, writemap=True, readahead=False
            )
            # Open another descriptor for allocating disk space, because the file's name is removed below.
            self._file = FileIO(file, "r+")
            allocate(self._file.fileno(), 0, _FIRST_BYTES)
        except (OSError, lmdb.Error) as error:
            raise self._unavailable("can't be created", error) from error
        finally:
            # The open descriptors keep the file. The system releases its space however the process ends.
            shutil.rmtree(folder, ignore_errors=True)
        self._read()

    def _read(self) -> None:
        # Use one read transaction for all reads until the next write, so that `get` need not begin and end one.
        self._reader = self._env.begin()
        self._stored = self._reader.get

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
        value: bytes | None = self._waiting.get(key, _MISSING)
        if value is _MISSING:
            value = self._stored(key) if len(key) < LONG else self._long(key)
            self._lengths[key] = -1 if value is None else len(value)
        return value

    def _long(self, key: bytes) -> bytes | None:
        return dict(rows_of(self._stored(key[:LONG]))).get(key)

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        last = b""
        for size in page_sizes():
            page = self._page(start, last, size)
            for key, value in page:
                for row in [(key, value)] if len(key) < LONG else rows_of(value):
                    if end is not None and row[0] >= end:
                        return
                    if row[0] >= start:
                        yield row
            if len(page) < size:
                return
            last = page[-1][0]

    def _page(self, start: bytes, last: bytes, size: int) -> list[tuple[bytes, bytes]]:
        """Return the next entries of the file, at or after `start` or, if it is not empty, after `last`."""
        self._write()
        with self._reader.cursor() as cursor:
            if not cursor.set_range(last or seek_key(start)):
                return []
            if last and cursor.key() == last and not cursor.next():
                return []
            # Copy the entries. Rows may change before the scan continues, and an open cursor would prevent LMDB from
            # reusing pages.
            return list(islice(cursor.iternext(), size))

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        last = b""
        for size in page_sizes():
            page = self._page_before(end, last, size)
            for key, value in page:
                for row in [(key, value)] if len(key) < LONG else reversed(rows_of(value)):
                    if row[0] < start:
                        return
                    if end is None or row[0] < end:
                        yield row
            if len(page) < size:
                return
            last = page[-1][0]

    def _page_before(self, end: bytes | None, last: bytes, size: int) -> list[tuple[bytes, bytes]]:
        """Return the entries of the file before `end` (None: open) or `last`, if it is not empty, in reverse order."""
        self._write()
        high = last or (None if end is None else seek_key(end))
        with self._reader.cursor() as cursor:
            if high is None or not cursor.set_range(high):
                is_there = cursor.last()
            else:
                # A long `end` is within an entry, which may also contain rows before it.
                is_there = (not last and len(high) == LONG and cursor.key() == high) or cursor.prev()
            return list(islice(cursor.iterprev(), size)) if is_there else []

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        self._tag = NO_TAG
        # The table has no tag until the end, so that after a failure it is not mistaken for that of the last commit.
        waiting, lengths, size, count, taken = self._waiting, self._lengths, 0, 0, 0
        self._touched += len(lengths)
        prefix, held = b"", [0, 0]
        for key, value in changes:
            # A store's rows are adjacent, so its counts are looked up once for all of them.
            if not prefix or not key.startswith(prefix):
                prefix, held = self._sizes.held_by(key)
            before = waiting.get(key, _MISSING)
            if before is _MISSING:
                taken += len(key) + _WAITING_ROW_BYTES
                # Most changed rows were read before. Their lengths are known, so the sizes need no second lookup.
                before_length = lengths.get(key)
                if before_length is None:
                    before_length = self._length(key)
            else:
                before_length = -1 if before is None else len(before)
                taken -= max(before_length, 0)
            came, gone = value is not None, before_length >= 0
            grown = (len(key) + len(value) if value is not None else 0) - (len(key) + before_length if gone else 0)
            held[0] += came - gone
            held[1] += grown
            size += grown
            count += came - gone
            taken += len(value) if value is not None else 0
            waiting[key] = value
        lengths.clear()
        self._bytes += size
        self._count += count
        self._waiting_bytes += taken
        if self._waiting_bytes > self._most_waiting:
            self._write()
        self._tag = tag

    def _length(self, key: bytes) -> int:
        # Nothing was written to the file yet, as in a restore, so the row can't exist.
        if self._is_empty:
            return -1
        self._touched += 1
        value = self._stored(key) if len(key) < LONG else self._long(key)
        return -1 if value is None else len(value)

    def _write(self) -> None:
        """Write the buffer to the file. If this fails, the buffer still has all rows."""
        if not self._waiting:
            return
        keys = sorted(self._waiting)
        for first in range(0, len(keys), _WRITTEN_AT_ONCE):
            portion = keys[first : first + _WRITTEN_AT_ONCE]
            while not self._is_written(portion):
                self._grow()
        self._touched += len(keys)
        self._waiting.clear()
        self._waiting_bytes, self._is_empty = 0, False
        # Mapped pages count as memory of this process. Mapping the file again releases them to the system's cache.
        if self._touched * _FILE_PAGE_BYTES > self._most_mapped < self._mapped_bytes:
            self._map(self._mapped_bytes)

    def _is_written(self, keys: list[bytes]) -> bool:
        """Write the rows of keys in one transaction. If they need a larger file, write nothing and return False."""
        waiting, rows, others = self._waiting, [], []
        for key in keys:
            value = waiting[key]
            if value is None or len(key) >= LONG:
                others.append(key)
            else:
                rows.append((key, value))
        # A read transaction would prevent LMDB from reusing pages.
        self._reader.abort()
        try:
            with self._env.begin(write=True) as writer:
                with writer.cursor() as cursor:
                    cursor.putmulti(rows)
                for key in others:
                    if len(key) >= LONG:
                        write_long_row(writer, key, waiting[key])
                    else:
                        writer.delete(key)
        except lmdb.MapFullError:
            return False
        finally:
            self._read()
        return True

    def _grow(self) -> None:
        size = self._mapped_bytes + max(self._mapped_bytes // 4, _FIRST_BYTES)
        size -= size % _FIRST_BYTES
        try:
            # Allocate space before the mapping grows. A write to mapped pages without disk space kills the process.
            allocate(self._file.fileno(), self._mapped_bytes, size)
        except OSError as error:
            raise self._unavailable(f"can't grow to {size >> 20} MB", error) from error
        self._map(size)

    def _map(self, size: int) -> None:
        self._reader.abort()
        try:
            self._env.set_mapsize(size)
        finally:
            self._read()
        self._mapped_bytes, self._touched = size, 0

    def _unavailable(self, what: str, error: Exception) -> DiskUnavailable:
        remedy = "free disk space, or choose another --table-directory"
        return DiskUnavailable(f"table {self._name}: its file in {self._base} {what}: {error}; {remedy}")

    def clear(self) -> None:
        # Create a new file instead of deleting rows. LMDB would keep the pages, and the file may be damaged.
        self._forget()
        self.close()
        self._open_unnamed()

    def close(self) -> None:
        self._reader.abort()
        self._env.close()
        self._file.close()
