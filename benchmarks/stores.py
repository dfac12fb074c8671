"""Operations per second of each kind of store, on both backends, compared with a plain dict or SQLite.

    python -m benchmarks.stores [--keys 1000 --keys 100000] [--large] [--kind window]

Operations use random keys, and 1,000 operations are a commit. The time includes decoding, encoding and, for puts,
writing the rows of the commit to the table. A range returns 100 rows. `as of` looks up one of the four versions of a
key. The reference executes the same operations with one row per key and the same codec. It is a dict with a sorted list
of its keys for in_memory, and an SQLite table for persistent. Results are based on the CPU time of this process, as the
best of several rounds.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import click
from sortedcontainers import SortedList

from forebay.serde import local_codec
from forebay.stores.binding import Store, TaskStores
from forebay.stores.disk import DiskTable
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.lru import LruStore
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal
from forebay.stores.session import SessionStore
from forebay.stores.table import Table
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Backend, BenchClock
from price_join.model import MenuPrice

BATCH = 1_000
BATCHES = 5
ROUNDS = 3
RANGE = 100
LONG_MS = 1 << 40
VERSIONS = 4
CODEC = local_codec("price-join", MenuPrice)


class Operations(Protocol):
    """The operations that are measured. Keys are whole numbers below the number of keys."""

    def put(self, key: int, number: int) -> object: ...

    def get(self, key: int) -> object: ...

    def range(self, key: int) -> object: ...

    def as_of(self, key: int) -> object: ...

    def commit(self) -> None: ...


def name_of(key: int) -> str:
    return f"item-{key:08}"


def value(key: int, number: int) -> MenuPrice:
    return MenuPrice(f"item-{key:08}", 9.5 + number, 1_735_689_600_000 + number)


def drain(entries: Iterator[Any]) -> int:
    return sum(1 for _ in islice(entries, RANGE))


class StoreOperations:
    """Operations of a store on a task's table."""

    def __init__(self, declared: Store[MenuPrice], table: Table) -> None:
        self._table, self._journal, self._tag = table, Journal(), 0
        self._task = TaskStores(table, self._journal, BenchClock(0))
        self.store: Any = declared.bind(self._task, CODEC)

    def commit(self) -> None:
        self._tag += 1
        changes = [change for rows in self._task.opened for change in rows.changes()]
        self._table.apply(changes, str(self._tag).encode())
        for rows in self._task.opened:
            rows.settle()

    def put(self, key: int, number: int) -> object:
        self._journal.commit()
        return self.store.put(name_of(key), value(key, number))

    def get(self, key: int) -> object:
        return self.store.get(name_of(key))

    def range(self, key: int) -> object:
        return drain(self.store.range(name_of(key), None))

    def as_of(self, key: int) -> object:
        raise NotImplementedError


class Timestamped(StoreOperations):
    def put(self, key: int, number: int) -> object:
        self._journal.commit()
        return self.store.put(name_of(key), value(key, number), number)


class Windows(StoreOperations):
    """Operations of a window store with one window per key. A range covers the windows of a key."""

    def put(self, key: int, number: int) -> object:
        self._journal.commit()
        return self.store.put(name_of(key), value(key, number), 1_000 * (key % 7))

    def get(self, key: int) -> object:
        return self.store.fetch_one(name_of(key), 1_000 * (key % 7))

    def range(self, key: int) -> object:
        return drain(self.store.fetch_all(1_000 * (key % 7), LONG_MS))


class Sessions(StoreOperations):
    def put(self, key: int, number: int) -> object:
        self._journal.commit()
        return self.store.put(name_of(key), 1_000 * (key % 7), 1_000 * (key % 7) + 500, value(key, number))

    def get(self, key: int) -> object:
        return drain(self.store.find_sessions(name_of(key), 0, LONG_MS))

    def range(self, key: int) -> object:
        return drain(self.store.find_sessions_by_end(1_000 * (key % 7), LONG_MS))


class Versions(StoreOperations):
    """Operations of a store with four versions per key, which are replaced in turn. A range covers a key's versions."""

    def put(self, key: int, number: int) -> object:
        self._journal.commit()
        return self.store.put(name_of(key), value(key, number), 1_000 * (number % VERSIONS))

    def range(self, key: int) -> object:
        return drain(self.store.get_range(name_of(key)))

    def as_of(self, key: int) -> object:
        return self.store.get(name_of(key), 1_000 * (key % VERSIONS) + 1)


class DictReference:
    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._keys = SortedList()

    def put(self, key: int, number: int) -> object:
        name = name_of(key)
        if name not in self._rows:
            self._keys.add(name)
        self._rows[name] = CODEC.encode(value(key, number))
        return None

    def get(self, key: int) -> object:
        return CODEC.decode(self._rows[name_of(key)])

    def range(self, key: int) -> object:
        names = islice(self._keys.irange(name_of(key)), RANGE)
        return sum(CODEC.decode(self._rows[name]) is not None for name in names)

    def as_of(self, key: int) -> object:
        return self.get(key)

    def commit(self) -> None:
        pass


class SqliteReference:
    def __init__(self, directory: str) -> None:
        self._db = sqlite3.connect(f"{directory}/reference.sqlite", isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-65536"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE rows (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def put(self, key: int, number: int) -> object:
        row = (name_of(key), CODEC.encode(value(key, number)))
        return self._db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", row)

    def get(self, key: int) -> object:
        return CODEC.decode(self._db.execute("SELECT value FROM rows WHERE key = ?", (name_of(key),)).fetchone()[0])

    def range(self, key: int) -> object:
        result = self._db.execute(f"SELECT value FROM rows WHERE key >= ? ORDER BY key LIMIT {RANGE}", (name_of(key),))
        return sum(CODEC.decode(row[0]) is not None for row in result)

    def as_of(self, key: int) -> object:
        return self.get(key)

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")


@dataclass(frozen=True, slots=True)
class Kind:
    declare: Callable[[int], Store[MenuPrice]]
    operations: type[StoreOperations]
    measured: tuple[str, ...] = ("put", "get", "range")
    fills: int = 1


KINDS: dict[str, Kind] = {
    "key-value": Kind(lambda _: KeyValueStore("s", MenuPrice), StoreOperations),
    "timestamped": Kind(lambda _: TimestampedKeyValueStore("s", MenuPrice), Timestamped),
    "lru": Kind(lambda keys: LruStore("s", MenuPrice, keys), StoreOperations),
    "ttl": Kind(lambda _: TtlKeyValueStore("s", MenuPrice, LONG_MS), StoreOperations),
    "window": Kind(lambda _: WindowStore("s", MenuPrice, size_ms=1_000, retention_ms=LONG_MS), Windows),
    "session": Kind(lambda _: SessionStore("s", MenuPrice, retention_ms=LONG_MS), Sessions),
    "versioned": Kind(
        lambda _: VersionedKeyValueStore("s", MenuPrice, history_retention_ms=LONG_MS),
        Versions,
        ("put", "get", "range", "as_of"),
        VERSIONS,
    ),
}


def fill(operations: Operations, keys: int, times: int) -> None:
    for number in range(times):
        for key in range(keys):
            operations.put(key, number)
            if key % 10_000 == 9_999:
                operations.commit()
        operations.commit()


def rate(operations: Operations, name: str, keys: int) -> float:
    """Return the number of operations per second of CPU time, as the largest of several rounds."""
    draw, best = random.Random(1), 0.0
    batches = 1 if name == "range" else BATCHES
    for number in range(ROUNDS):
        chosen = [[draw.randrange(keys) for _ in range(BATCH)] for _ in range(batches)]
        began = time.process_time()
        for batch in chosen:
            if name == "put":
                for key in batch:
                    operations.put(key, number)
                operations.commit()
            else:
                call = getattr(operations, name)
                for key in batch:
                    call(key)
        best = max(best, batches * BATCH / (time.process_time() - began))
    return best


def measure(kind: Kind, backend: Backend, keys: int, reference: dict[str, float]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        table: Table = MemoryTable() if backend is Backend.IN_MEMORY else DiskTable(directory, "bench")
        try:
            operations = kind.operations(kind.declare(keys), table)
            fill(operations, keys, kind.fills)
            for name in kind.measured:
                result = rate(operations, name, keys)
                print(f" {name:>6} {result:>9,.0f}/s ({reference[name] / result:4.1f} x)", end="", flush=True)
        finally:
            table.close()
    print()


def measure_reference(backend: Backend, keys: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        result: Operations = DictReference() if backend is Backend.IN_MEMORY else SqliteReference(directory)
        fill(result, keys, 1)
        return {name: rate(result, name, keys) for name in ("put", "get", "range", "as_of")}


@click.command()
@click.option("--keys", "sizes", multiple=True, default=(1_000, 100_000), help="Numbers of keys.")
@click.option("--large", is_flag=True, help="Also with 1,000,000 keys: takes minutes and a few GB.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only these kinds.")
def main(sizes: tuple[int, ...], large: bool, kinds: tuple[str, ...]) -> None:
    """Run the benchmark. The output shows the ratio to the reference's time in parentheses."""
    for keys in (*sizes, *([1_000_000] if large else [])):
        for backend in Backend:
            reference = measure_reference(backend, keys)
            plain = "dict" if backend is Backend.IN_MEMORY else "SQLite"
            shown = "".join(f" {name:>6} {item:>9,.0f}/s        " for name, item in reference.items())
            print(f"{backend.value}, {keys:,} keys\n  {plain:12}{shown.rstrip()}")
            for name in kinds or KINDS:
                print(f"  {name:12}", end="")
                measure(KINDS[name], backend, keys, reference)


if __name__ == "__main__":
    main(standalone_mode=False)
