"""Columns of a store's entries, and the conversion of keys and values for Arrow."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from pyspark.sql import types as spark

from forebay.formats import Format, avro
from forebay.queries.entries import Entry, shown_value
from forebay.records import is_record_type
from forebay.spark.columns import Column
from forebay.spark.decoding import PRIMITIVES
from forebay.stores.binding import RowValue, Store
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.session import SessionStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore

_MOST_MS = (2**63 - 1) // 1_000

Times = tuple[tuple[str, Callable[[Entry], int | None]], ...]


def time_columns(store: Store[Any]) -> Times:
    """Return the names of a store's time columns, each with a function that returns the time (ms) of an entry."""
    stamped: Times = (("timestamp", lambda entry: entry.timestamp),)
    window: Times = (("window_start", lambda entry: entry.start), ("window_end", lambda entry: entry.end))
    has_stamp = store.row_value in (RowValue.STAMPED, RowValue.STAMPED_HELD)
    match store:
        case SuppressBuffer():
            return window + stamped
        case WindowStore():
            return window + stamped if has_stamp else window
        case SessionStore():
            return (("session_start", lambda entry: entry.start), ("session_end", lambda entry: entry.end))
        case VersionedKeyValueStore():
            return (("valid_from", lambda entry: entry.timestamp), ("valid_to", lambda entry: entry.valid_to))
        case JoinBuffer():
            return stamped
        case _:
            return stamped if has_stamp else ()


def microseconds(ms: int | None) -> int | None:
    """Return a time in microseconds, or None if Spark can't represent it, such as the end of an unlimited window."""
    return None if ms is None or abs(ms) > _MOST_MS else ms * 1_000


def is_avro(kind: Format[Any]) -> bool:
    """Return whether a format is Avro with the contract that has the name of the record class."""
    return kind.is_contract and is_record_type(kind.type) and kind.is_same(avro(kind.type))


def plain_column(kind: Format[Any]) -> Column:
    """Return the column for a format without a contract, of the corresponding Spark type or with JSON text."""
    for own, spark_type in PRIMITIVES.values():
        if kind.is_same(own):
            return Column(spark_type)
    return Column(spark.StringType(), _text)


def key_column(kind: Format[Any] | None) -> tuple[spark.DataType, Callable[[str], Any]]:
    """Return the type of the key column, and a function that converts a row's key text to a value of this type.

    Args:
        kind: The format of the keys. None means that keys are texts.
    """
    if kind is None or kind.is_text or kind.of_row is None:
        return spark.StringType(), _same
    column, of_row = plain_column(kind), kind.of_row
    change = column.convert
    return column.kind, of_row if change is None else lambda text: change(of_row(text))


def store_schema(store: Store[Any], key: spark.DataType, value: spark.DataType, error_column: str) -> spark.StructType:
    """Return the columns of a store.

    Args:
        store: The declared store.
        key: Type of its keys.
        value: Type of its values.
        error_column: Name of the column with decoding errors, or "" if there is no such column.
    """
    schema = spark.StructType().add("key", key)
    for name, _ in time_columns(store):
        schema.add(name, spark.TimestampType())
    schema.add("value", value).add("partition", spark.IntegerType(), False)
    return schema.add(error_column, spark.StringType()) if error_column else schema


def _same(text: str) -> str:
    return text


def _text(value: Any) -> str:
    if isinstance(value, uuid.UUID):
        return str(value)
    return json.dumps(shown_value(value), ensure_ascii=False, default=str)
