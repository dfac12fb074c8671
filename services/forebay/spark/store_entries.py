"""Conversion of a compacted changelog partition to rows of a DataFrame."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from forebay.codec import Codec, DecodeError
from forebay.queries.entries import Entry, changed_entry
from forebay.runtime.protocol.snapshot_mark import MARK
from forebay.spark.records import UNFIT
from forebay.spark.source_options import Mode
from forebay.spark.store_columns import microseconds, time_columns
from forebay.spark.store_declaration import DeclaredStore
from forebay.stores.versioned import VersionedKeyValueStore

Record = tuple[bytes, bytes | None, int]
"""Key, value and timestamp (ms) of a changelog record."""
Latest = dict[bytes, tuple[bytes, int]]


class _Decoded(NamedTuple):
    entry: Entry
    problem: str | None = None


def compact(records: Iterable[Record]) -> Latest:
    """Return the latest value and timestamp of each key whose latest record is not a delete."""
    latest: Latest = {}
    for key, value, timestamp in records:
        if value is None:
            latest.pop(key, None)
        elif key != MARK:
            latest[key] = value, timestamp
    return latest


class StoreEntries:
    """Converter from the rows of one changelog partition to rows of a DataFrame.

    Args:
        declared: The store.
        codec: Decodes the store's values to values of the column `value`.
        mode: How a row that can't be decoded is handled.
    """

    def __init__(self, declared: DeclaredStore, codec: Codec[Any], mode: Mode) -> None:
        self._store, self._topic, self._codec, self._mode = declared.store, declared.topic, codec, mode
        self._rows = declared.log.rows()
        self._prefix = len(self._rows.form(self._topic)[0])
        self._key_of = declared.key()[1]
        self._times = time_columns(self._store)

    def read(self, latest: Mapping[bytes, tuple[bytes, int]], partition: int) -> Iterator[list[Any]]:
        """Yield the rows of a partition in the order of their keys.

        Raises:
            DecodeError: A row can't be decoded and the mode is `fail`.
        """
        decoded = (self._decode(key, *latest[key], partition) for key in sorted(latest))
        usable = (item for item in decoded if item is not None)
        items = _versions(usable) if isinstance(self._store, VersionedKeyValueStore) else usable
        for entry, problem in items:
            row = [None if problem and not entry.key else self._key(entry.key)]
            row += [microseconds(time(entry)) for _, time in self._times]
            row += [entry.value, partition]
            yield [*row, problem] if self._mode is Mode.COLUMN else row

    def _decode(self, key: bytes, value: bytes, timestamp: int, partition: int) -> _Decoded | None:
        row, data = self._rows.row(self._topic, key, value, timestamp)
        try:
            entry = self._entry(row, data)
            self._key(entry.key)
        except (DecodeError, *UNFIT) as error:
            self._check_mode(error, key, partition)
            return None if self._mode is Mode.SKIP else _Decoded(self._key_alone(row), str(error))
        return _Decoded(entry)

    def without_misfit(self, row: list[Any], error: Exception) -> list[Any] | None:
        """Return a row without the value that its column can't hold, or None to skip the row.

        Raises:
            DecodeError: The mode is `fail`.
        """
        key, *times, value, partition = row[:-1] if self._mode is Mode.COLUMN else row
        self._check_mode(error, key, partition)
        if self._mode is Mode.SKIP:
            return None
        if value is None:
            raise error
        return [key, *times, None, partition, str(error)]

    def _check_mode(self, error: Exception, key: Any, partition: int) -> None:
        if self._mode is Mode.FAIL:
            raise DecodeError(
                f"{self._topic}-{partition}: the row with the key {key!r} can't be decoded: {error}. "
                'Set option("mode", "skip") to leave such rows out, or "column" to see them'
            ) from error

    def _entry(self, row: bytes, data: bytes | None) -> Entry:
        try:
            return changed_entry(self._store, row[self._prefix :], data, self._codec)
        except (ValueError, LookupError, struct.error) as error:
            # Another program may have written this key. The functions that parse keys expect the bytes that a store
            # writes, and other bytes raise any of these errors.
            raise DecodeError(f"it is not a row of the store {self._store.name}: {error}") from error

    def _key(self, text: str) -> Any:
        try:
            return self._key_of(text)
        except (ValueError, LookupError, struct.error) as error:
            raise DecodeError(f"it is not a key of the store {self._store.name}: {error}") from error

    def _key_alone(self, row: bytes) -> Entry:
        try:
            entry = self._entry(row, None)
            self._key(entry.key)
        except DecodeError:
            return Entry("", None)
        return entry


def _versions(decoded: Iterable[_Decoded]) -> Iterator[_Decoded]:
    """Yield versions with the end of their validity. A null version only ends the previous version's validity."""
    last: _Decoded | None = None
    for item in decoded:
        is_same_key = last is not None and last.entry.key == item.entry.key
        if last is not None and _is_version(last):
            end = item.entry.timestamp if is_same_key else None
            yield last._replace(entry=dataclasses.replace(last.entry, valid_to=end))
        last = item
    if last is not None and _is_version(last):
        yield last


def _is_version(item: _Decoded) -> bool:
    return item.entry.value is not None or item.problem is not None
