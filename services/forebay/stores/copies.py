"""Warm copies of tasks' tables: kept by a process that follows the changelogs, read by a task that starts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from forebay.private import make_private_directory, make_private_file
from forebay.stores.disk import DiskTable
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import NO_TAG, Table

_AT_ONCE = 20_000
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class CopyTable(DiskTable):
    """A table in a file that lasts, and that others may read while it is written. One process writes it.

    Rows and tag change together: a reader sees both as of one batch. What each store takes is not known of rows that
    were there before.
    """

    def __init__(self, file: Path) -> None:
        self._sizes = StoreSizes()
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
        self._open(self.file, "journal_mode=WAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS state (tag BLOB, bytes INTEGER, count INTEGER)")
        state = self._db.execute("SELECT tag, bytes, count FROM state").fetchone()
        self._tag, self._bytes, self._count = (bytes(state[0]), state[1], state[2]) if state else (NO_TAG, 0, 0)

    def _note(self, tag: bytes, size: int, count: int) -> None:
        self._db.execute("DELETE FROM state")
        self._db.execute("INSERT INTO state VALUES (?, ?, ?)", (tag, size, count))

    def clear(self) -> None:
        self._forget()
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


def copy_file(directory: str, application: str, stage: int, task: int) -> Path:
    """Return the file of a task's warm copy."""
    return Path(directory) / f"{application}-{stage}-{task}.sqlite"


def load_copy(file: Path, table: Table) -> bool:
    """Fill `table` from a warm copy, with the copy's tag; False, and an empty table, if no copy is usable."""
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)) as db:
            db.execute("BEGIN")
            state = db.execute("SELECT tag FROM state").fetchone()
            if state is None or bytes(state[0]) == NO_TAG:
                return False
            table.clear()
            for rows in _portions(db):
                table.apply(rows, b"copying")
            table.apply((), bytes(state[0]))
    except sqlite3.Error:
        table.clear()
        return False
    return True


def _portions(db: sqlite3.Connection) -> Iterator[list[tuple[bytes, bytes]]]:
    rows = db.execute("SELECT key, value FROM rows ORDER BY key")
    while portion := rows.fetchmany(_AT_ONCE):
        yield portion
