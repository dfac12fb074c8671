"""Conversion of a DataFrame's rows to Kafka records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import types as spark

from forebay.serde.framing import HEADER_BYTES
from forebay.spark.sink_encoding import Encoding
from forebay.spark.sink_values import ColumnMismatch, Convert, ValueMismatch, microseconds

_ANY_PARTITION = -1


class SinkRecord(NamedTuple):
    """A record to send. A timestamp of 0 is the time of sending, and partition -1 is chosen by the key."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None
    timestamp: int
    partition: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RowPlan:
    """The plan that converts rows to records.

    Args:
        value: Encoding of values.
        key: Encoding of keys, or None if records have no keys.
        headers: Name of the column with headers, or "".
        timestamp: Name of the column with timestamps, or "".
        partition: Name of the column with partitions, or "".
        partitions: Number of the topic's partitions.
    """

    value: Encoding
    key: Encoding | None = None
    headers: str = ""
    timestamp: str = ""
    partition: str = ""
    partitions: int = 1

    def reader(self) -> Callable[[Mapping[str, Any]], SinkRecord]:
        """Return a function that converts a row to a record. It raises ValueMismatch."""
        value = self.value.encoder()
        key = _nothing if self.key is None else self.key.encoder()
        headers, timestamp, partition = self._headers(), self._timestamp(), self._partition()
        return lambda row: SinkRecord(key(row), value(row), headers(row), timestamp(row), partition(row))

    @property
    def schema_ids(self) -> tuple[int, int]:
        """The schema ids of keys and values. An id of 0 means that there is no schema."""
        return (0 if self.key is None else self.key.schema_id, self.value.schema_id)

    def _headers(self) -> Convert:
        name = self.headers
        if not name:
            return _nothing

        def read(row: Mapping[str, Any]) -> list[tuple[str, bytes | None]] | None:
            pairs: list[Any] | None = row[name]
            if not pairs:
                return None
            return [
                _header(*pair) if isinstance(pair, tuple) else _header(pair["key"], pair["value"]) for pair in pairs
            ]

        return read

    def _timestamp(self) -> Convert:
        name = self.timestamp
        if not name:
            return lambda row: 0

        def read(row: Mapping[str, Any]) -> int:
            moment = row[name]
            if moment is None:
                return 0
            milliseconds = moment if isinstance(moment, int) else microseconds(moment) // 1_000
            if milliseconds <= 0:
                raise ValueMismatch(f"{name} is {moment}: a record's timestamp must be after 1970-01-01 00:00 UTC")
            return milliseconds

        return read

    def _partition(self) -> Convert:
        name, partitions = self.partition, self.partitions
        if not name:
            return lambda row: _ANY_PARTITION

        def read(row: Mapping[str, Any]) -> int:
            partition = row[name]
            if partition is None:
                return _ANY_PARTITION
            if not 0 <= partition < partitions:
                raise ValueMismatch(f"{name} is {partition}, but the topic has the partitions 0 to {partitions - 1}")
            return int(partition)

        return read


def check_columns(row: spark.StructType, plan_columns: Mapping[str, str]) -> None:
    """Check that the columns which options name exist and have the required types.

    Args:
        row: The columns of the DataFrame.
        plan_columns: Column names by option, such as {"headersColumn": "headers"}. An unset option has the name "".

    Raises:
        ColumnMismatch: A column is missing, ambiguous or of the wrong type.
    """
    names = row.fieldNames()
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnMismatch(f"the DataFrame has several columns {', '.join(twice)}: rename them, or drop all but one")
    for option, name in plan_columns.items():
        if name and name not in names:
            raise ColumnMismatch(f"{option}: the DataFrame has no column {name}; it has {', '.join(names)}")
        if name and option in _TYPES and not _TYPES[option][0](row[name].dataType):
            kind = row[name].dataType.simpleString().upper()
            raise ColumnMismatch(f"{option}: the column {name} is {kind}, not {_TYPES[option][1]}: CAST it")


def _is_headers(kind: spark.DataType) -> bool:
    if isinstance(kind, spark.MapType):
        return isinstance(kind.keyType, spark.StringType) and isinstance(kind.valueType, _HEADER_VALUES)
    row = kind.elementType if isinstance(kind, spark.ArrayType) else None
    return (
        isinstance(row, spark.StructType)
        and row.fieldNames() == ["key", "value"]
        and isinstance(row["key"].dataType, spark.StringType)
        and isinstance(row["value"].dataType, _HEADER_VALUES)
    )


_HEADER_VALUES = (spark.BinaryType, spark.StringType)
_TYPES: Mapping[str, tuple[Callable[[spark.DataType], bool], str]] = {
    "headersColumn": (_is_headers, "ARRAY<STRUCT<key: STRING, value: BINARY>> or MAP<STRING, BINARY>"),
    "timestampColumn": (
        lambda kind: isinstance(kind, spark.TimestampType | spark.LongType),
        "TIMESTAMP, or BIGINT (ms)",
    ),
    "partitionColumn": (lambda kind: isinstance(kind, spark.IntegerType), "INT"),
}


class Digest:
    """The number of records and the sum of their hashes, which do not depend on the order of the records.

    Schema ids and the time of sending are not part of a record's hash.

    Args:
        schema_ids: Schema ids of keys and values. An id of 0 means that the data has no framing.
    """

    def __init__(self, schema_ids: tuple[int, int] = (0, 0)) -> None:
        self.rows = 0
        self.size = 0
        """Bytes of keys and values."""
        self._sum = 0
        self._key_start, self._value_start = (HEADER_BYTES if schema_id else 0 for schema_id in schema_ids)

    def add(self, record: SinkRecord) -> None:
        """Add a record."""
        key, value = record.key, record.value
        self.size += len(key or b"") + len(value or b"")
        key = None if key is None else key[self._key_start :]
        value = None if value is None else value[self._value_start :]
        content = repr((key, value, *record[2:])).encode()
        self._sum += int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "big")
        self.rows += 1

    @property
    def text(self) -> str:
        """The sum of the hashes in hexadecimal digits."""
        return f"{self._sum % (1 << 128):032x}"


def _header(name: str | None, value: str | bytes | None) -> tuple[str, bytes | None]:
    if name is None:
        raise ValueMismatch("a header has no key: give it a name")
    return name, value.encode() if isinstance(value, str) else value


def _nothing(row: Mapping[str, Any]) -> Any:
    return None
