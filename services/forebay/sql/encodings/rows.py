"""Formats of rows as values and as keys of topics."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats import BOOLEAN as BOOLEAN_BYTES
from forebay.formats import BYTES as RAW
from forebay.formats import DOUBLE as DOUBLE_BYTES
from forebay.formats import INT as INT_BYTES
from forebay.formats import LONG, TEXT, Format, no_contracts
from forebay.sql import casts
from forebay.sql.arithmetic import exact_decimal_of, text_of_double
from forebay.sql.catalog import Encoding, Named, delimiter_of
from forebay.sql.encodings.readers import NO_NUMBERS, boolean_of_text, brief, reader, time_of_day, writer
from forebay.sql.encodings.readers import field as field_of
from forebay.sql.encodings.wires import Wire, takes_all
from forebay.sql.number_texts import decimal_of_text, double_of_text, trim, whole_of
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMES,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    parts_of,
)
from forebay.sql.values import RowCodec, hint_of, tuple_of

encode_json = msgspec.json.Encoder(decimal_format="number").encode
"""JSON with decimals as numbers and bytes as base64."""
SIMPLE: dict[SqlType, Format[Any]] = {
    INT: INT_BYTES,
    BIGINT: LONG,
    DOUBLE: DOUBLE_BYTES,
    STRING: TEXT,
    BOOLEAN: BOOLEAN_BYTES,
    BYTES: RAW,
    TIMESTAMP: LONG,
}


class JsonRow:
    """Rows as JSON objects, or a single column as it is, in the bytes that ksqlDB writes.

    Args:
        entries: whether maps may be read from lists of entries.
    """

    is_frozen = True

    def __init__(self, columns: tuple[Named, ...], *, wraps: bool, entries: bool = False) -> None:
        self._parts = [
            (column.name, column.name.upper(), reader(column.type, entries=entries), writer(column.type, _java_double))
            for column in columns
        ]
        self._wraps = wraps
        # Parse numbers as Decimal only if a column needs their exact digits. A text column shows a number as it was
        # written.
        self._as_decimals = "DECIMAL" in str([str(column.type) for column in columns]) or "STRING" in str(
            [str(column.type) for column in columns]
        )

    def decode(self, data: bytes) -> Any:
        try:
            document = json.loads(data, parse_float=Decimal if self._as_decimals else None, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are no JSON: {error}") from error
        if not self._wraps:
            return (self._parts[0][2](document),)
        if document is None:
            return None
        if not isinstance(document, dict):
            raise DecodeError(f"{brief(document)} is no JSON object")
        return tuple(read(field_of(document, name, upper)) for name, upper, read, _ in self._parts)

    def encode(self, record: Any) -> bytes:
        if self._wraps:
            row = {name: write(part) for (name, _, _, write), part in zip(self._parts, record, strict=True)}
        else:
            row = self._parts[0][3](record[0])
        data = encode_json(row)
        return _ESCAPE.sub(_in_capitals, data) if b"\\u00" in data else data


_ESCAPE = re.compile(rb"\\(?:u00[01][0-9a-f]|.)")


def _in_capitals(escape: re.Match[bytes]) -> bytes:
    """Return an escape as Jackson writes it: a key of other bytes is in another partition."""
    text = escape[0]
    return text[:2] + text[2:].upper()


def _java_double(value: float | None) -> Any:
    """Return what a JSON encoder writes as Java writes a double: a key of other bytes is in another partition."""
    if value is None or value == 0 or 1e-3 <= abs(value) < 1e7:
        return value
    text = text_of_double(value)
    return msgspec.Raw(text.encode()) if math.isfinite(value) else text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class DelimitedRow:
    """Rows as lines of CSV; no text between delimiters is null."""

    is_frozen = True

    def __init__(self, columns: tuple[Named, ...], delimiter: str) -> None:
        self._columns = columns
        self._delimiter = delimiter
        self._readers = [casts.of_nullable(_of_text(column.type)) for column in columns]
        self._writers = [casts.of_nullable(_to_text(column.type)) for column in columns]

    def decode(self, data: bytes) -> Any:
        try:
            parts = next(csv.reader([data.decode()], delimiter=self._delimiter, strict=True), [])
        except (ValueError, csv.Error) as error:
            raise DecodeError(f"{brief(data)} is no line of columns: {error}") from error
        if len(parts) != len(self._columns):
            raise DecodeError(f"{brief(data)} has {len(parts)} columns, {len(self._columns)} are declared")
        try:
            return tuple(read(part or None) for read, part in zip(self._readers, parts, strict=True))
        except (ValueError, ArithmeticError) as error:
            raise DecodeError(f"{brief(data)} does not fit its columns: {error}") from error

    def encode(self, record: Any) -> bytes:
        texts = [write(value) for write, value in zip(self._writers, record, strict=True)]
        parts = ["" if text is None else self._quote(text, is_first=not at) for at, text in enumerate(texts)]
        return self._delimiter.join(parts).encode()

    def _quote(self, text: str, *, is_first: bool) -> str:
        """Return a field in quotes where commons-csv 1.4 gives it some: keys of other bytes are in other partitions."""
        if text:
            starts = _is_mark(text[0]) if is_first else text[0] <= "#"
            if not starts and text[-1] > " " and not any(item in text for item in (self._delimiter, '"', "\r", "\n")):
                return text
        elif not is_first:
            return text
        return '"' + text.replace('"', '""') + '"'


def _is_mark(letter: str) -> bool:
    return not (letter.isascii() and letter.isalnum())


def _of_text(kind: SqlType) -> casts.Caster | None:
    if isinstance(kind, DecimalType):
        return lambda text: exact_decimal_of(decimal_of_text(text), kind.precision, kind.scale)
    special: dict[SqlType, casts.Caster] = {
        INT: lambda text: whole_of(text, 32),
        BIGINT: lambda text: whole_of(text, 64),
        BOOLEAN: boolean_of_text,
        BYTES: _of_base64,
        DATE: lambda text: whole_of(text, 32),
        TIME: lambda text: time_of_day(whole_of(text, 32)),
        TIMESTAMP: lambda text: whole_of(text, 64),
        DOUBLE: lambda text: float(text) if trim(text) in NO_NUMBERS else double_of_text(text),
    }
    return special.get(kind) or casts.caster(STRING, kind)


def _of_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _to_text(kind: SqlType) -> casts.Caster:
    if kind == BYTES:
        return lambda value: base64.b64encode(value).decode()
    return str if kind in TIMES else casts.texter(kind)


class SingleRow:
    """A single column in Kafka's own bytes."""

    is_frozen = True

    def __init__(self, inner: Codec[Any]) -> None:
        self._inner = inner

    def decode(self, data: bytes) -> Any:
        return (self._inner.decode(data),)

    def encode(self, record: Any) -> bytes:
        if record[0] is None:
            raise EncodeError("a null has no bytes in the KAFKA format")
        return self._inner.encode(record[0])


class OrderedMaps:
    """Keys whose maps have their entries in order, so that equal keys are equal bytes."""

    is_frozen = True

    def __init__(self, inner: Codec[Any]) -> None:
        self._inner = inner

    def decode(self, data: bytes) -> Any:
        return self._inner.decode(data)

    def encode(self, record: Any) -> bytes:
        return self._inner.encode(_sort_fields(record))


def _sort_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_fields(value[key]) for key in sorted(value, key=lambda key: (key is not None, key))}
    return tuple(map(_sort_fields, value)) if isinstance(value, tuple) else value


def _has_map(kind: SqlType) -> bool:
    return any(isinstance(part, MapType) for part in parts_of(kind))


def plain_json(columns: tuple[Named, ...], *, wraps: bool, entries: bool = False) -> Codec[Any]:
    """Return the codec of rows as JSON; `wraps` says whether a single column is a field."""
    return JsonRow(columns, wraps=wraps or len(columns) != 1, entries=entries)


def codec_of(kind: str, columns: tuple[Named, ...], encoding: Encoding, *, is_key: bool) -> Codec[Any]:
    """Return the codec of rows. Raises TypeError where the format can't hold the columns."""
    if kind in ("JSON", "JSON_SR"):
        wraps = encoding.wraps if encoding.wraps is not None and not is_key else not (is_key and len(columns) == 1)
        return plain_json(columns, wraps=wraps, entries=kind == "JSON_SR")
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
        return Format("no columns", tuple, lambda _: _Empty(), takes=takes_all)
    codec = codec_of(encoding.value, columns, encoding, is_key=False)
    wire = Wire(encoding.value, columns, wire_variant(encoding, columns))
    name = f"{encoding.value} {', '.join(map(str, columns))}"
    return Format(name, tuple, lambda _: codec, wire=wire, takes=wire.takes)


def wire_variant(encoding: Encoding, columns: tuple[Named, ...]) -> str:
    """Return what distinguishes this format from others of its kind."""
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
    """Return the format of keys: tuples of their columns. Raises TypeError.

    A single column is written without its name, so that columns of any name have the same format.
    """
    return _key_format(
        tuple(replace(column, name="ROWKEY") for column in columns) if len(columns) == 1 else columns, kind
    )


@lru_cache(4096)
def _key_format(columns: tuple[Named, ...], kind: str) -> Format[Any]:
    if not columns or kind == "NONE":
        # Rows without key columns have no key, even if the records have one.
        none: Callable[[Any], Any] = lambda _: None  # noqa: E731
        return Format("no key", tuple, lambda _: _Empty(), none, lambda _: (), takes=takes_all)
    used = "JSON" if kind == "KAFKA" and (len(columns) > 1 or columns[0].type not in SIMPLE) else kind
    codec = codec_of(used.partition(" ")[0], columns, Encoding(delimiter=delimiter_of(used)), is_key=True)
    if any(_has_map(column.type) for column in columns):
        codec = OrderedMaps(codec)
    names = ", ".join(str(column.type) if len(columns) == 1 else str(column) for column in columns)
    row, of_row = _rows(used, columns, codec)
    wire = Wire(used, columns, "bare" if len(columns) == 1 else "")
    return Format(f"{used} key {names}", tuple, lambda _: codec, row, of_row, wire=wire, takes=wire.takes)


def _rows(
    kind: str, columns: tuple[Named, ...], codec: Codec[Any]
) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Return the row text of keys, which sorts as they do where that is simple."""
    if len(columns) == 1 and columns[0].type in SIMPLE and columns[0].type != BYTES:
        inner = SIMPLE[columns[0].type]
        row, of_row = inner.row, inner.of_row
        assert row is not None
        assert of_row is not None
        if columns[0].type == STRING:
            return (lambda key: key[0]), (lambda text: (text,))
        return (lambda key: row(key[0])), (lambda text: (of_row(text),))
    inner_codec: Codec[Any] = RowCodec(tuple_of([hint_of(column.type) for column in columns]))
    if isinstance(codec, OrderedMaps):
        inner_codec = OrderedMaps(inner_codec)
    return (
        lambda key: inner_codec.encode(key).decode("latin-1"),
        lambda text: inner_codec.decode(text.encode("latin-1")),
    )
