"""Cases of key-value, LRU and list-value stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.cases import fields
from conformance.script import Stores
from conformance.steps import StoreSteps
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.listvalue import ListValueStore
from forebay.stores.lru import LruStore
from forebay.testing.cell import Cell, Json, cell, cell_or_none, plain


class KeyValueSteps(StoreSteps):
    """Operations of key-value and LRU stores."""

    def __init__(self, store: Json, steps: list[Json], stores: Stores) -> None:
        super().__init__(steps, stores)
        self._store: KeyValueStore[Cell] | LruStore[Cell]
        if store.get("kind") == "lru":
            fields("store", store, {"kind", "max_entries"})
            self._store = stores.open(LruStore("store", Cell, store["max_entries"]))
            self.counters = ("evicted_total",)
        else:
            fields("store", store, {"kind"})
            self._store = stores.open(KeyValueStore("store", Cell))

    def put(self, key: Json, value: Json) -> None:
        self._store.put(self._key(key), cell_or_none(value))

    def put_all(self, entries: list[Json]) -> None:
        self._store.put_all([(self._key(key), cell_or_none(value)) for key, value in entries])

    def put_if_absent(self, key: Json, value: Json) -> Json:
        if value is None:
            return plain(self._store.get(self._key(key)))
        return plain(self._store.put_if_absent(self._key(key), cell(value)))

    def delete(self, key: Json) -> Json:
        return plain(self._store.delete(self._key(key)))

    def get(self, key: Json) -> Json:
        return plain(self._store.get(self._key(key)))

    def range(self, from_: Json, to_: Json) -> Json:
        return self._show(self._store.range(self.keys.encode(from_), self.keys.encode(to_)))

    def reverse_range(self, from_: Json, to_: Json) -> Json:
        return self._show(self._store.reverse_range(self.keys.encode(from_), self.keys.encode(to_)))

    def all(self) -> Json:
        return self._show(self._store.all())

    def reverse_all(self) -> Json:
        return self._show(self._store.reverse_all())

    def prefix_scan(self, prefix: Json) -> Json:
        return self._show(self._store.prefix_scan(prefix))

    def approximate_num_entries(self) -> Json:
        return self._store.approximate_num_entries()

    def evicted_total(self) -> Json:
        return self._store.evicted_total if isinstance(self._store, LruStore) else 0

    def restore_batch(self, records: list[Json]) -> None:
        put = self._store.restore if isinstance(self._store, LruStore) else self._store.put
        for record in records:
            fields("record", record, {"key", "value"}, {"ts"})
            put(self._key(record["key"]), cell_or_none(record["value"]))

    def _key(self, key: Json) -> Json:
        return self.keys.encode(key)

    def _show(self, entries: Iterator[tuple[str, Cell]]) -> Json:
        return show(self, entries)


class ListValueSteps(StoreSteps):
    """Operations of a list-value store."""

    def __init__(self, store: Json, steps: list[Json], stores: Stores) -> None:
        super().__init__(steps, stores)
        fields("store", store, {"kind"})
        self._store = stores.open(ListValueStore("store", Cell))

    def put(self, key: Json, value: Json) -> None:
        self._store.put(self.keys.encode(key), cell_or_none(value))

    def get(self, key: Json) -> Json:
        return [plain(value) for value in self._store.get(self.keys.encode(key))] or None

    def all(self) -> Json:
        return show(self, self._store.all())

    def approximate_num_entries(self) -> Json:
        return self._store.approximate_num_entries()

    def restore_batch(self, records: list[Json]) -> None:
        for record in records:
            fields("record", record, {"key", "value"}, {"ts"})
            self.put(record["key"], record["value"])


def show(steps: StoreSteps, entries: Iterable[tuple[str, Cell]]) -> Json:
    """Return entries in the format of the cases."""
    return [[steps.keys.decode(key), plain(value)] for key, value in entries]
