"""Cases of window, session and versioned stores."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.cases import BadCase, fields
from conformance.script import Stores
from conformance.steps import StoreSteps
from forebay.stores.session import SessionEntry, SessionStore
from forebay.stores.versioned import NOT_PUT, NotPut, Order, Put, Version, VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates, WindowEntry
from forebay.testing.cell import Cell, Json, cell_or_none, plain

_MISSING: Json = object()

_ORDERS = {"any": Order.NEWEST_FIRST, "desc": Order.NEWEST_FIRST, "asc": Order.OLDEST_FIRST}


class WindowSteps(StoreSteps):
    """Operations of a window store."""

    counters = ("dropped_total",)

    def __init__(self, store: Json, steps: list[Json], stores: Stores) -> None:
        super().__init__(steps, stores)
        required = {"kind", "window_size_ms", "retention_ms"}
        fields("store", store, required, {"retain_duplicates", "segment_interval_ms"})
        self._store = stores.open(
            WindowStore(
                "store",
                Cell,
                size_ms=store["window_size_ms"],
                retention_ms=store["retention_ms"],
                duplicates=Duplicates.KEEP if store.get("retain_duplicates") else Duplicates.REPLACE,
            )
        )

    def put(self, key: Json, value: Json, window_start: int) -> None:
        self._store.put(self.keys.encode(key), cell_or_none(value), window_start)

    def delete(self, key: Json, window_start: int) -> None:
        self.put(key, None, window_start)

    def fetch_one(self, key: Json, window_start: int) -> Json:
        entry = self._store.fetch_one(self.keys.encode(key), window_start)
        return None if entry is None else plain(entry.value)

    def fetch(self, key: Json, from_: int, to_: int) -> Json:
        return self._show(self._store.fetch(self.keys.encode(key), from_, to_))

    def backward_fetch(self, key: Json, from_: int, to_: int) -> Json:
        return self._show(self._store.backward_fetch(self.keys.encode(key), from_, to_))

    def fetch_key_range(self, key_from: Json, key_to: Json, from_: int, to_: int) -> Json:
        low, high = self.keys.encode(key_from), self.keys.encode(key_to)
        return self._show(self._store.fetch_key_range(low, high, from_, to_))

    def backward_fetch_key_range(self, key_from: Json, key_to: Json, from_: int, to_: int) -> Json:
        low, high = self.keys.encode(key_from), self.keys.encode(key_to)
        return self._show(self._store.backward_fetch_key_range(low, high, from_, to_))

    def fetch_all(self, from_: int, to_: int) -> Json:
        return self._show(self._store.fetch_all(from_, to_))

    def backward_fetch_all(self, from_: int, to_: int) -> Json:
        return self._show(self._store.backward_fetch_all(from_, to_))

    def all(self) -> Json:
        return self._show(self._store.all())

    def backward_all(self) -> Json:
        return self._show(self._store.backward_all())

    def dropped_records_total(self) -> Json:
        return self._store.dropped_total

    def restore_batch(self, records: list[Json]) -> None:
        # A restore drops expired records without counting them, as in Kafka Streams.
        dropped = self._store.dropped_total
        for record in records:
            fields("record", record, {"key", "value", "window_start"})
            self.put(record["key"], record["value"], record["window_start"])
        self._store.dropped_total = dropped

    def _show(self, entries: Iterable[WindowEntry[Cell]]) -> Json:
        return [{"key": self.keys.decode(e.key), "start": e.start, "value": plain(e.value)} for e in entries]


class SessionSteps(StoreSteps):
    """Operations of a session store."""

    counters = ("dropped_total",)

    def __init__(self, store: Json, steps: list[Json], stores: Stores) -> None:
        super().__init__(steps, stores)
        fields("store", store, {"kind", "retention_ms"}, {"segment_interval_ms"})
        self._store = stores.open(SessionStore("store", Cell, retention_ms=store["retention_ms"]))

    def put(self, key: Json, start: int, end: int, value: Json) -> None:
        self._store.put(self.keys.encode(key), start, end, cell_or_none(value))

    def remove(self, key: Json, start: int, end: int) -> None:
        self._store.remove(self.keys.encode(key), start, end)

    def fetch_session(self, key: Json, start: int, end: int) -> Json:
        return plain(self._store.fetch_session(self.keys.encode(key), start, end))

    def fetch(self, key: Json) -> Json:
        return self._show(self._store.fetch(self.keys.encode(key)))

    def backward_fetch(self, key: Json) -> Json:
        return self._show(self._store.backward_fetch(self.keys.encode(key)))

    def fetch_key_range(self, key_from: Json, key_to: Json) -> Json:
        return self._show(self._store.fetch_key_range(self.keys.encode(key_from), self.keys.encode(key_to)))

    def backward_fetch_key_range(self, key_from: Json, key_to: Json) -> Json:
        low, high = self.keys.encode(key_from), self.keys.encode(key_to)
        return self._show(self._store.backward_fetch_key_range(low, high))

    def find_sessions(
        self,
        earliest_end: int,
        latest_start: int,
        key: Json = _MISSING,
        key_from: Json = None,
        key_to: Json = None,
    ) -> Json:
        if key is not _MISSING:
            return self._show(self._store.find_sessions(self.keys.encode(key), earliest_end, latest_start))
        low, high = self.keys.encode(key_from), self.keys.encode(key_to)
        return self._show(self._store.find_sessions_key_range(low, high, earliest_end, latest_start))

    def backward_find_sessions(
        self,
        earliest_end: int,
        latest_start: int,
        key: Json = _MISSING,
        key_from: Json = None,
        key_to: Json = None,
    ) -> Json:
        if key is not _MISSING:
            return self._show(self._store.backward_find_sessions(self.keys.encode(key), earliest_end, latest_start))
        low, high = self.keys.encode(key_from), self.keys.encode(key_to)
        return self._show(self._store.backward_find_sessions_key_range(low, high, earliest_end, latest_start))

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Json:
        return self._show(self._store.find_sessions_by_end(earliest_end, latest_end))

    def all(self) -> Json:
        return self._show(self._store.all())

    def dropped_records_total(self) -> Json:
        return self._store.dropped_total

    def restore_batch(self, records: list[Json]) -> None:
        dropped = self._store.dropped_total
        for record in records:
            fields("record", record, {"key", "start", "end", "value"})
            self.put(record["key"], record["start"], record["end"], record["value"])
        self._store.dropped_total = dropped

    def _show(self, entries: Iterable[SessionEntry[Cell]]) -> Json:
        return [
            {"key": self.keys.decode(e.key), "start": e.start, "end": e.end, "value": plain(e.value)} for e in entries
        ]


class VersionedSteps(StoreSteps):
    """Operations of a versioned key-value store."""

    counters = ("dropped_total",)

    def __init__(self, store: Json, steps: list[Json], stores: Stores) -> None:
        super().__init__(steps, stores)
        fields("store", store, {"kind", "history_retention_ms"}, {"segment_interval_ms"})
        self._store = stores.open(
            VersionedKeyValueStore("store", Cell, history_retention_ms=store["history_retention_ms"])
        )

    def put(self, key: Json, value: Json, ts: int) -> Json:
        return _put_result(self._store.put(self.keys.encode(key), cell_or_none(value), ts))

    def delete(self, key: Json, ts: int) -> Json:
        return _shown_version(self._store.delete(self.keys.encode(key), ts))

    def get(self, key: Json) -> Json:
        return _shown_version(self._store.get(self.keys.encode(key)))

    def get_as_of(self, key: Json, as_of: int) -> Json:
        return _shown_version(self._store.get(self.keys.encode(key), as_of))

    def get_range(self, key: Json, from_: int | None, to_: int | None, order: str = "any") -> Json:
        if order not in _ORDERS:
            raise BadCase(f"unknown order {order!r}")
        versions = self._store.get_range(self.keys.encode(key), from_, to_, _ORDERS[order])
        return [_shown_version(version) for version in versions]

    def restore_batch(self, records: list[Json]) -> None:
        for record in records:
            fields("record", record, {"key", "value", "ts"})
            self._store.restore(self.keys.encode(record["key"]), cell_or_none(record["value"]), record["ts"])

    def dropped_records_total(self) -> Json:
        return self._store.dropped_total


def _put_result(result: Put | NotPut) -> Json:
    return {"result": "not_put"} if result is NOT_PUT else {"result": "put", "valid_to": result.valid_to}


def _shown_version(version: Version[Cell] | None) -> Json:
    if version is None:
        return None
    return {"value": plain(version.value), "ts": version.timestamp, "valid_to": version.valid_to}
