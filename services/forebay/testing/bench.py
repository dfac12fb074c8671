"""A task's stores without a task: each step of a case is committed to a real table, then read back from it."""

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
    """Where a case's stores are kept."""

    IN_MEMORY = "in_memory"
    PERSISTENT = "persistent"


@dataclass(slots=True)
class BenchClock:
    """A clock set by hand, in ms."""

    closing_time: int = -1


@dataclass(slots=True)
class Bench:
    """Opens stores on a table; `commit` writes what they changed and drops everything held in memory."""

    table: Table
    clock: BenchClock = field(default_factory=BenchClock)
    journal: Journal = field(default_factory=Journal)
    commits: int = 0
    stores: TaskStores = field(init=False)

    def __post_init__(self) -> None:
        self.stores = TaskStores(self.table, self.journal, self.clock)

    def open(self, declared: S, codec: Codec[Any] | None = None) -> S:
        """Return the declared store, bound to the table."""
        return declared.bind(self.stores, codec or CellCodec())

    def commit(self) -> list[Change]:
        """Apply all changes to the table and forget every cached object, as a restarted task does."""
        changes = [change for rows in self.stores.opened for change in rows.changes()]
        self.commits += 1
        self.table.apply(changes, str(self.commits).encode())
        for rows in self.stores.opened:
            rows.settle()
            rows.discard()
        self.journal.commit()
        return changes

    def roll_back(self) -> None:
        """Undo every change since the last commit."""
        self.journal.roll_back()


@contextmanager
def open_bench(backend: Backend, directory: Path | None = None) -> Iterator[Bench]:
    """Yield a bench on an empty table, closed at the end."""
    table: Table = (
        MemoryTable()
        if backend is Backend.IN_MEMORY
        else DiskTable(str(directory or tempfile.gettempdir()), "conformance", 2 << 20)
    )
    try:
        yield Bench(table)
    finally:
        table.close()
