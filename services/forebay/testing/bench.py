"""A bench for stores without a task, which commits each step of a case to a real table and reads it back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from forebay.codec import Codec
from forebay.stores.binding import Store, TaskStores
from forebay.stores.disk import DiskTable
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal
from forebay.stores.table import Change, Table
from forebay.testing.cell import CellCodec

S = TypeVar("S", bound=Store[Any])


class Backend(Enum):
    """The kind of table of a case's stores."""

    IN_MEMORY = "in_memory"
    PERSISTENT = "persistent"


@dataclass(slots=True)
class BenchClock:
    """A clock that the test sets, in ms."""

    closing_time: int = -1


@dataclass(slots=True)
class Bench:
    """Stores on a table. `commit` writes their changes and discards all cached objects."""

    table: Table
    clock: BenchClock = field(default_factory=BenchClock)
    journal: Journal = field(default_factory=Journal)
    commits: int = 0
    stores: TaskStores = field(init=False)

    def __post_init__(self) -> None:
        self.stores = TaskStores(self.table, self.journal, self.clock)

    def open(self, declared: S, codec: Codec[Any] | None = None) -> S:
        """Return the store of a declaration, bound to the table."""
        return declared.bind(self.stores, codec or CellCodec())

    def commit(self) -> list[Change]:
        """Apply all changes to the table, discard all cached objects as a restart does, and return the changes."""
        changes = [change for rows in self.stores.opened for change in rows.changes()]
        self.commits += 1
        self.table.apply(changes, str(self.commits).encode())
        for rows in self.stores.opened:
            rows.settle()
            rows.discard()
        self.journal.commit()
        return changes

    def roll_back(self) -> None:
        """Undo all changes since the last commit."""
        self.journal.roll_back()


@contextmanager
def open_bench(backend: Backend, directory: Path | None = None) -> Iterator[Bench]:
    """Yield a bench with an empty table, and close the table at the end."""
    table: Table = (
        MemoryTable()
        if backend is Backend.IN_MEMORY
        else DiskTable(str(directory or tempfile.gettempdir()), "conformance", 2 << 20)
    )
    try:
        yield Bench(table)
    finally:
        table.close()
