"""A task whose store is declared differently at its starts, as by new releases of a service."""

from __future__ import annotations

from typing import Any, TypeVar

from forebay.stores.binding import Store, TaskStores
from forebay.stores.kinds import PREFIX, Kinds, OnChange
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal
from forebay.stores.table import Table
from forebay.testing.bench import BenchClock
from forebay.testing.cell import Cell, CellCodec

S = TypeVar("S", bound=Store[Any])


def cell(number: int) -> Cell:
    return Cell(str(number))


class Task:
    """A task with one table. `open` opens a store on it, and `commit` writes the store's changes and format."""

    def __init__(self, table: Table | None = None) -> None:
        self.table: Table = MemoryTable() if table is None else table
        self.clock = BenchClock()
        self.commits = 0

    def open(self, declared: S, on_change: OnChange = OnChange.REFUSE, stream_time: int = 0) -> S:
        self.lent = TaskStores(self.table, Journal(), self.clock)
        bound = declared.bind(self.lent, CellCodec())
        self.kinds = Kinds("kitchen", [bound], self.lent, {declared.name: CellCodec()}, on_change)
        self.kinds.load(self.table, stream_time)
        return bound

    def convert(self, declared: S, stream_time: int = 0) -> S:
        """Open the store as `forebay store upgrade` does, and commit."""
        bound = self.open(declared, OnChange.CONVERT, stream_time)
        self.converted = [(done.read, done.remaining, done.dropped) for done in self.kinds.conversions]
        self.commit()
        return bound

    def commit(self) -> int:
        """Write the changes to the table. Return the number of changed rows."""
        changes = [change for rows in self.lent.opened for change in rows.changes()]
        changes += self.kinds.changes()
        self.commits += 1
        self.table.apply(changes, str(self.commits).encode())
        self.kinds.settle()
        for rows in self.lent.opened:
            rows.settle()
        return len(changes)

    def recorded_kind(self, store: str) -> str | None:
        row = self.table.get(PREFIX + store.encode())
        return None if row is None else row.decode()

    def rows(self) -> dict[bytes, bytes]:
        return dict(self.table.scan(b""))
