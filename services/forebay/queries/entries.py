"""Entries of stores of any format, and their JSON representation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

from forebay.codec import Codec
from forebay.records import as_dict, is_record_type
from forebay.stores.binding import RowValue, Store
from forebay.stores.buffers import JoinBuffer, SuppressBuffer, key_and_window
from forebay.stores.keys import WIDTH, split_key, split_text, unpack_time
from forebay.stores.listvalue import ListValueStore
from forebay.stores.session import SessionStore
from forebay.stores.values import Held, HeldCodec, Stamped, StampedCodec
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a store. Times are in ms, and None if the store's format has no such time.

    Args:
        value: a record; None: deleted, or a version that is null.
        start, end: bounds of a window (end exclusive) or of a session (end inclusive).
        timestamp: stored with the value; for a version: the begin of its validity.
        valid_to: end of a version's validity; None: it is the latest version, or the end was not requested.
    """

    key: str
    value: Any
    start: int | None = None
    end: int | None = None
    timestamp: int | None = None
    valid_to: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object, without times that are None. A key of several fields adds `key_parts`."""
        times = {name: getattr(self, name) for name in ("start", "end", "timestamp", "valid_to")}
        parts = {"key_parts": split_key(self.key)} if "\0\1" in self.key else {}
        set_times = {name: time for name, time in times.items() if time is not None}
        return {"key": self.key, **parts, **set_times, "value": shown_value(self.value)}


def shown_value(value: Any) -> Any:
    """Return a value that JSON can represent: bytes as hexadecimal digits; decimals, NaN and infinities as text."""
    return _plain(as_dict(value) if is_record_type(type(value)) else value)


def changed_entry(store: Store[Any], row: bytes, data: bytes | None, codec: Codec[Any]) -> Entry:
    """Return the entry that a row of a store contains.

    Args:
        row: the row's key, without the store's name.
        data: the row's value; None: the row was deleted.
        codec: codec of the store's records.
    """
    value, timestamp = (None, None) if data is None else _value(store, data, codec)
    match store:
        case WindowStore():
            key, at = split_text(row)
            start = unpack_time(row, at)
            return Entry(key, value, *store.window_from(start), timestamp)
        case SessionStore():
            key, at = split_text(row)
            # The row key of a session has the end before the start, so that rows are in the order of ends.
            return Entry(key, value, unpack_time(row, at + WIDTH), unpack_time(row, at))
        case VersionedKeyValueStore():
            key, at = split_text(row)
            return Entry(key, value, timestamp=unpack_time(row, at))
        case ListValueStore():
            return Entry(split_text(row)[0], value)
        case JoinBuffer():
            return Entry(split_text(row, WIDTH)[0], value, timestamp=unpack_time(row))
        case SuppressBuffer():
            key, window = key_and_window(row)
            if window is None:
                return Entry(key, value, timestamp=timestamp)
            return Entry(key, value, window.start, window.end, timestamp)
        case _:
            return Entry(row.decode(), value, timestamp=timestamp)


def _value(store: Store[Any], data: bytes, codec: Codec[Any]) -> tuple[Any, int | None]:
    match store.row_value:
        case RowValue.PLAIN:
            return codec.decode(data), None
        case RowValue.STAMPED:
            return StampedCodec(codec).decode(data)
        case RowValue.HELD:
            return HeldCodec(codec).decode(data).value, None
        case RowValue.STAMPED_HELD:
            stamped: Stamped[Held[Any]] = StampedCodec(HeldCodec(codec)).decode(data)
            return stamped.value.value, stamped.timestamp


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal) or (isinstance(value, float) and not isfinite(value)):
        return str(value)
    return value
