"""Warm copies of tasks' tables: kept by a process that follows the changelogs, read by a task that starts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from forebay.stores.disk_files import page_sizes
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import NO_TAG, Change, Table
from forebay.utils.private import make_private_directory, make_private_file

_ROWS = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
_PUT = "INSERT INTO rows VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_ROW_BYTES = 16
_AT_ONCE = 20_000
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class CopyTable:
    """A table in a SQLite file that lasts, and that others may read while it is written (implements `Table`).

    One process writes it. Rows and tag change together, so a reader sees both as of one commit. The sizes of stores do
    not include rows that were in the file before.
    """

    def __init__(self, file: Path) -> None:
        self._sizes = StoreSizes()
        self._tag = NO_TAG
        self._bytes = self._count = 0
        self.file = file
        make_private_directory(file.parent)
        try:
            self._begin()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in _DAMAGED:
                raise
            self._anew()

    def _anew(self) -> None:
        """Begin with a new file: this one is damaged."""
        self._db.close()
        for ending in ("", "-wal", "-shm"):
            self.file.with_name(f"{self.file.name}{ending}").unlink(missing_ok=True)
        self._begin()

    def _begin(self) -> None:
        make_private_file(self.file)
        # One thread at a time uses a table, but not always the same.
        self._db = sqlite3.connect(self.file, isolation_level=None, cached_statements=32, check_same_thread=False)
        # Not synced: a lost copy costs a longer replay. With a write-ahead log, a task reads the copy as of one commit
        # while its standby writes the next.
        for pragma in ("synchronous=OFF", "journal_mode=WAL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute(_ROWS)
        self._db.execute("CREATE TABLE IF NOT EXISTS state (tag BLOB, bytes INTEGER, count INTEGER)")
        state = self._db.execute("SELECT tag, bytes, count FROM state").fetchone()
        self._tag, self._bytes, self._count = (bytes(state[0]), state[1], state[2]) if state else (NO_TAG, 0, 0)

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
        for size in page_sizes():
            page = self._page(start, end, "ASC", size)
            yield from page
            if len(page) < size:
                return
            start = page[-1][0] + b"\0"

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for size in page_sizes():
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
        # The tag is gone until COMMIT: if a change fails, the table must not look as it did at its last commit.
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
        assert self._db.in_transaction, f"{self.file}: the tag would change apart from the rows"
        self._db.execute("DELETE FROM state")
        self._db.execute("INSERT INTO state VALUES (?, ?, ?)", (tag, size, count))

    def clear(self) -> None:
        self._tag = NO_TAG
        self._bytes = self._count = 0
        self._sizes = StoreSizes()
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM rows")
            self._note(NO_TAG, 0, 0)
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in _DAMAGED:
                raise
            self._anew()

    def close(self) -> None:
        self._db.close()


def copy_file(directory: str, application: str, sub_topology: int, task: int) -> Path:
    """Return the file of a task's warm copy."""
    return Path(directory) / f"{application}-{sub_topology}-{task}.sqlite"


def load_copy(file: Path, table: Table) -> bool:
    """Fill `table` from a warm copy, with the copy's tag; False, and an empty table, if no copy is usable."""
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)) as db:
            db.execute("BEGIN")
            # In one read transaction with the rows: the standby continues to write, and the tag must be theirs.
            state = db.execute("SELECT tag FROM state").fetchone()
            if state is None or bytes(state[0]) == NO_TAG:
                return False
            table.clear()
            for rows in _portions(db):
                # No commit has this tag. The last call gives the real one, so that a part of a copy is never trusted.
                table.apply(rows, b"copying")
            table.apply((), bytes(state[0]))
            assert table.tag == bytes(state[0]), f"{file}: the table is not of the copy's commit"
    except sqlite3.Error:
        table.clear()
        return False
    return True


def _portions(db: sqlite3.Connection) -> Iterator[list[tuple[bytes, bytes]]]:
    rows = db.execute("SELECT key, value FROM rows ORDER BY key")
    while portion := rows.fetchmany(_AT_ONCE):
        yield portion
