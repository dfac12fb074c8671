"""Warm copies of tasks' tables, which a standby maintains from the changelogs and a starting task reads."""

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
    """A table in a persistent SQLite file, which other processes may read while it is written (implements `Table`).

    One process writes it. Rows and tag change atomically, so a reader sees both as of the same commit. The sizes of
    stores do not include rows that were in the file when it was opened.
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
        """Replace a damaged file by a new one."""
        self._db.close()
        for ending in ("", "-wal", "-shm"):
            self.file.with_name(f"{self.file.name}{ending}").unlink(missing_ok=True)
        self._begin()

    def _begin(self) -> None:
        make_private_file(self.file)
        # Only one thread at a time uses a table, but not always the same one.
        self._db = sqlite3.connect(self.file, isolation_level=None, cached_statements=32, check_same_thread=False)
        # Do not sync, because a lost copy only costs a longer replay. With a write-ahead log, a task can read the copy
        # as of one commit while the standby writes the next one.
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
        # The table has no tag until COMMIT, so that after a failure it is not mistaken for that of the last commit.
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
    """Return the path of a task's warm copy."""
    return Path(directory) / f"{application}-{sub_topology}-{task}.sqlite"


def load_copy(file: Path, table: Table) -> bool:
    """Load a warm copy and its tag into `table`. If there is no usable copy, clear the table and return False."""
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)) as db:
            db.execute("BEGIN")
            # Read the tag and the rows in one transaction. The standby continues to write, and the tag must be theirs.
            state = db.execute("SELECT tag FROM state").fetchone()
            if state is None or bytes(state[0]) == NO_TAG:
                return False
            table.clear()
            for rows in _portions(db):
                # No commit has this tag. The last call sets the real one, so that a partial copy is never used.
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
