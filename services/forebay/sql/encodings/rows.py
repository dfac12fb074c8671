"""Formats of rows as values and keys of topics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from forebay.codec import Codec, EncodeError, registering
from forebay.formats import BOOLEAN as BOOLEAN_BYTES
from forebay.formats import BYTES as RAW
from forebay.formats import DOUBLE as DOUBLE_BYTES
from forebay.formats import INT as INT_BYTES
from forebay.formats import LONG, TEXT, Format, no_contracts
from forebay.formats.identities import NOTHING, Identity, by_name, by_place
from forebay.sql.catalog import Encoding, Named, delimiter_of
from forebay.sql.encodings.delimited_rows import DelimitedRow
from forebay.sql.encodings.json_rows import JsonRow
from forebay.sql.encodings.readers import Path
from forebay.sql.encodings.wires import Wire, takes_all
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
    parts_of,
)
from forebay.sql.values import RowCodec, hint_of, tuple_of

SIMPLE: dict[SqlType, Format[Any]] = {
    INT: INT_BYTES,
    BIGINT: LONG,
    DOUBLE: DOUBLE_BYTES,
    STRING: TEXT,
    BOOLEAN: BOOLEAN_BYTES,
    BYTES: RAW,
    TIMESTAMP: LONG,
}


class SingleRow:
    """Codec of rows with a single column, in the encoding of Kafka's serializers."""

    is_frozen = True

    def __init__(self, inner: Codec[Any]) -> None:
        self._inner = inner

    def decode(self, data: bytes) -> Any:
        return (self._inner.decode(data),)

    def encode(self, record: Any) -> bytes:
        if record[0] is None:
            raise EncodeError("a null has no bytes in the KAFKA format")
        return self._inner.encode(record[0])


class EqualKeys:
    """Codec that encodes equal keys as equal bytes, by sorting the entries of maps and using a single NaN."""

    is_frozen = True

    def __init__(self, inner: Codec[Any]) -> None:
        self._inner = inner
        self.register = registering(inner)

    def decode(self, data: bytes) -> Any:
        return self._inner.decode(data)

    def encode(self, record: Any) -> bytes:
        return self._inner.encode(_as_equal(record))


def as_equal_keys(codec: Codec[Any], columns: tuple[Named, ...]) -> Codec[Any]:
    """Return a codec of keys that encodes equal keys as equal bytes."""
    return EqualKeys(codec) if any(_varies(column.type) for column in columns) else codec


def _as_equal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_equal(value[key]) for key in sorted(value, key=lambda key: (key is not None, key))}
    if isinstance(value, float):
        return value if value == value else math.nan  # noqa: PLR0124 (only NaN is not itself)
    return tuple(map(_as_equal, value)) if isinstance(value, tuple) else value


def _varies(kind: SqlType) -> bool:
    """Return whether equal values of a type can have different bytes."""
    return any(isinstance(part, MapType) or part == DOUBLE for part in parts_of(kind))


def json_schema_rows(columns: tuple[Named, ...], *, wraps: bool, entry_maps: frozenset[Path]) -> Codec[Any]:
    """Return the codec of JSON_SR rows without framing.

    Args:
        columns: The columns.
        wraps: Whether a single column is a field of an object.
        entry_maps: Paths of the maps that are written as lists of entries.
    """
    return JsonRow(columns, wraps=wraps or len(columns) != 1, reads_entries=True, entry_maps=entry_maps)


def codec_of(kind: str, columns: tuple[Named, ...], encoding: Encoding, *, is_key: bool) -> Codec[Any]:
    """Return the codec of rows. Raises TypeError if the format does not support the columns."""
    if kind in ("JSON", "JSON_SR"):
        wraps = encoding.wraps if encoding.wraps is not None and not is_key else not (is_key and len(columns) == 1)
        return JsonRow(columns, wraps=wraps or len(columns) != 1, reads_entries=kind == "JSON_SR")
    if kind == "DELIMITED":
        nested = [str(column) for column in columns if isinstance(column.type, ArrayType | MapType | StructType)]
        if nested:
            raise TypeError(f"DELIMITED holds no {', '.join(nested)}: write JSON")
        return DelimitedRow(columns, encoding.delimiter)
    if kind == "KAFKA":
        if len(columns) != 1 or columns[0].type not in SIMPLE:
            raise TypeError(f"KAFKA holds one simple column, not {', '.join(map(str, columns))}: write JSON")
        return SingleRow(SIMPLE[columns[0].type].codec(no_contracts))
    return RowCodec(tuple_of([hint_of(column.type) for column in columns]))


@lru_cache(4096)
def value_format(columns: tuple[Named, ...], encoding: Encoding) -> Format[Any]:
    """Return the format of a topic's values. Raises TypeError."""
    if encoding.value == "NONE" or not columns:
        # Written as an empty object, which JSON with any columns reads.
        return Format("no columns", tuple, lambda _: _Empty(), takes=takes_all, identify=lambda: NOTHING)
    codec = codec_of(encoding.value, columns, encoding, is_key=False)
    wire = Wire(encoding.value, columns, wire_variant(encoding, columns))
    name = f"{encoding.value} {', '.join(map(str, columns))}"
    return Format(
        name,
        tuple,
        lambda _: codec,
        wire=wire,
        takes=wire.takes,
        identify=lambda: identity_of_values(columns, encoding),
    )


def identity_of_values(columns: tuple[Named, ...], encoding: Encoding) -> Identity:
    """Return the identity of values without a registered schema or with schema ids, which stores record."""
    kind, variant = encoding.value, wire_variant(encoding, columns)
    if kind == "KAFKA":
        return SIMPLE[columns[0].type].identity
    if kind == "DELIMITED":
        return by_place(f"DELIMITED by {variant!r}", named_types(columns))
    return by_name(f"{kind} {variant}".strip(), ", ".join(map(str, columns)))


def named_types(columns: tuple[Named, ...]) -> list[tuple[str, Identity]]:
    """Return the names and types of columns that are identified by their positions."""
    return [(column.name, str(column.type)) for column in columns]


def wire_variant(encoding: Encoding, columns: tuple[Named, ...]) -> str:
    """Return a text that distinguishes this format from other formats of the same kind."""
    if encoding.value == "DELIMITED":
        return encoding.delimiter
    return "bare" if encoding.wraps is False and len(columns) == 1 else ""


class _Empty:
    is_frozen = True

    def decode(self, data: bytes) -> Any:
        return ()

    def encode(self, record: Any) -> bytes:
        return b"{}"


def key_format(columns: tuple[Named, ...], kind: str) -> Format[Any]:
    """Return the format of keys, which are tuples of columns. Raises TypeError.

    A single column is written without its name, so its name does not change the format.
    """
    return _key_format(
        tuple(replace(column, name="ROWKEY") for column in columns) if len(columns) == 1 else columns, kind
    )


@lru_cache(4096)
def _key_format(columns: tuple[Named, ...], kind: str) -> Format[Any]:
    if not columns or kind == "NONE":
        # Rows without key columns have no key, even if their records have one.
        none: Callable[[Any], Any] = lambda _: None  # noqa: E731
        return Format(
            "no key", tuple, lambda _: _Empty(), none, lambda _: (), takes=takes_all, identify=lambda: "no key"
        )
    used = "JSON" if kind == "KAFKA" and (len(columns) > 1 or columns[0].type not in SIMPLE) else kind
    codec = codec_of(used.partition(" ")[0], columns, Encoding(delimiter=delimiter_of(used)), is_key=True)
    codec = as_equal_keys(codec, columns)
    names = ", ".join(str(column.type) if len(columns) == 1 else str(column) for column in columns)
    row, of_row = _rows(used, columns, codec)
    wire = Wire(used, columns, "bare" if len(columns) == 1 else "")
    identity = SIMPLE[columns[0].type].identity if used == "KAFKA" else by_place(f"{used} key", named_types(columns))
    return Format(
        f"{used} key {names}",
        tuple,
        lambda _: codec,
        row,
        of_row,
        wire=wire,
        takes=wire.takes,
        identify=lambda: identity,
    )


def _rows(
    kind: str, columns: tuple[Named, ...], codec: Codec[Any]
) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Return functions between keys and row texts. For simple types, row texts have the same order as keys."""
    if len(columns) == 1 and columns[0].type in SIMPLE and columns[0].type != BYTES:
        inner = SIMPLE[columns[0].type]
        row, of_row = inner.row, inner.of_row
        assert row is not None
        assert of_row is not None
        if columns[0].type == STRING:
            return (lambda key: key[0]), (lambda text: (text,))
        return (lambda key: row(key[0])), (lambda text: (of_row(text),))
    inner_codec: Codec[Any] = RowCodec(tuple_of([hint_of(column.type) for column in columns]))
    if isinstance(codec, EqualKeys):
        inner_codec = EqualKeys(inner_codec)
    return (
        lambda key: inner_codec.encode(key).decode("latin-1"),
        lambda text: inner_codec.decode(text.encode("latin-1")),
    )
