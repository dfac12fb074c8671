"""Conversion of a store's rows to another declaration, with puts of the declared store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forebay.codec import Codec
from forebay.stores.binding import RowValue, Store, TaskStores
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.rows import Rows
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore

_REWRITTEN = (KeyValueStore.kind, TimestampedKeyValueStore.kind, VersionedKeyValueStore.kind)


class Way(Enum):
    """How rows are converted from one declaration to another."""

    REWRITE = "rewrite"
    ADAPT = "adapt"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of converting a task's rows of one store.

    Args:
        recorded: Declaration with which the rows were written.
        declared: Declaration that they fit now.
        read: Number of rows (versions, entries) before the conversion.
        remaining: Number of rows after it.
    """

    store: str
    recorded: str
    declared: str
    read: int
    remaining: int

    @property
    def dropped(self) -> int:
        """Number of rows that were dropped: past the retention, superseded, or tombstones."""
        return self.read - self.remaining

    def __str__(self) -> str:
        rows = f"{self.read} rows read, {self.remaining} written or kept, {self.dropped} dropped"
        return f"store {self.store}: {self.recorded} -> {self.declared}: {rows}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row in a form that every rewritten kind of store can put. None is a tombstone, `timestamp` is in ms."""

    key: str
    value: Any
    timestamp: int


def describe_store(store: Store[Any]) -> str:
    """Return the recorded form of a declaration: its kind, followed by the settings that affect its rows."""
    return " ".join([store.kind, *(f"{name}={_text(store, name)}" for name in (*store.fixed, *store.limits))])


def way_to(store: Store[Any], recorded: str) -> Way:
    """Return how rows that were written with the declaration `recorded` can be converted to `store`."""
    kind, settings = _parse(recorded)
    if kind in _REWRITTEN and store.kind in _REWRITTEN:
        return Way.REWRITE
    same = kind == store.kind and all(settings.get(name) == _text(store, name) for name in store.fixed)
    return Way.ADAPT if same else Way.NONE


def convert(
    store: Store[Any], recorded: str, task: TaskStores, codec: Codec[Any], stream_time: int
) -> tuple[Conversion, list[Rows[Any]]]:
    """Convert a task's rows as changes of the current commit.

    Entries are put in order of timestamp and key, so that a history retention drops the same versions as it would have
    dropped originally.

    Args:
        store: Declared store, bound to `task`. It has the same rows as the store that wrote them.
        stream_time: Stream time in ms, which becomes the timestamp of values without one.

    Returns:
        The result, and rows with changes that do not belong to the declared store.
    """
    own = task.of_store[store.name]
    if way_to(store, recorded) is Way.ADAPT:
        read = _count(own[0])
        store.adapt()
        return Conversion(store.name, recorded, describe_store(store), read, _count(own[0])), []
    before = task.with_own_journal()
    writer = _declared_as(recorded, store).bind(before, codec)
    entries = sorted(_entries(writer, max(stream_time, 0)), key=lambda entry: (entry.timestamp, entry.key))
    by_prefix = {rows.prefix: rows for rows in own}
    for rows in before.opened:
        # Delete rows that both declarations have through the declared store. Otherwise the delete and the new put would
        # be two changes of one key, and their order would decide.
        doomed = by_prefix.get(rows.prefix, rows)
        for key in rows.confirmed_keys():
            doomed.put(key, None)
    for entry in entries:
        _put(store, entry)
    others = [rows for rows in before.opened if rows.prefix not in by_prefix]
    return Conversion(store.name, recorded, describe_store(store), len(entries), _count(own[0])), others


def is_of_kind(store: Store[Any], recorded: str) -> bool:
    """Return whether rows with the declaration `recorded` are of a store's kind. Their settings may differ."""
    return _parse(recorded)[0] == store.kind


def row_value_of(recorded: str) -> RowValue:
    """Return the layout of the values of rows with the declaration `recorded`."""
    return _row_values().get(_parse(recorded)[0], RowValue.PLAIN)


def _row_values() -> dict[str, RowValue]:
    kinds: list[type[Store[Any]]] = [Store]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return {kind.kind: kind.row_value for kind in kinds}


def _declared_as(recorded: str, store: Store[Any]) -> Store[Any]:
    kind, settings = _parse(recorded)
    match kind:
        case KeyValueStore.kind:
            return KeyValueStore(store.name, store.value)
        case TimestampedKeyValueStore.kind:
            return TimestampedKeyValueStore(store.name, store.value)
        case _:
            retention_ms = int(settings["history_retention_ms"])
            return VersionedKeyValueStore(store.name, store.value, history_retention_ms=retention_ms)


def _entries(store: Store[Any], stream_time: int) -> Iterable[Entry]:
    match store:
        case KeyValueStore():
            return (Entry(key, value, stream_time) for key, value in store.all())
        case TimestampedKeyValueStore():
            return (Entry(key, row.value, max(row.timestamp, 0)) for key, row in store.all())
        case VersionedKeyValueStore():
            return (Entry(*version) for version in store.history())
    raise TypeError(f"store {store.name}: rows of the format {store.kind!r} are not rewritten")


def _put(store: Store[Any], entry: Entry) -> None:
    match store:
        case KeyValueStore():
            store.put(entry.key, entry.value)
        case TimestampedKeyValueStore():
            store.put(entry.key, entry.value, entry.timestamp)
        case VersionedKeyValueStore():
            store.restore(entry.key, entry.value, entry.timestamp)


def _count(rows: Rows[Any]) -> int:
    return sum(1 for _ in rows.scan(b"", None))


def _text(store: Store[Any], setting: str) -> str:
    value = getattr(store, setting)
    return str(value.value if isinstance(value, Enum) else value)


def _parse(recorded: str) -> tuple[str, dict[str, str]]:
    kind, *settings = recorded.split(" ")
    return kind, dict(setting.split("=", 1) for setting in settings)
