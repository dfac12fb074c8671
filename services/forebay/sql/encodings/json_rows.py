"""Codec of rows as JSON, with the same bytes as in ksqlDB."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import msgspec

from forebay.codec import DecodeError
from forebay.sql.arithmetic import text_of_double
from forebay.sql.catalog import Named
from forebay.sql.encodings.json_bytes import jackson_bytes
from forebay.sql.encodings.readers import Path, brief, field, reader, writer


class JsonRow:
    """Codec of rows as JSON objects, or of a single unwrapped column, with the same bytes as in ksqlDB.

    Args:
        columns: The columns.
        wraps: Whether a single column is a field of an object.
        reads_entries: Whether maps may be lists of entries.
        entry_maps: Paths of the maps that are written as lists of entries.
    """

    is_frozen = True

    def __init__(
        self,
        columns: tuple[Named, ...],
        *,
        wraps: bool,
        reads_entries: bool = False,
        entry_maps: frozenset[Path] = frozenset(),
    ) -> None:
        self._parts = [
            (
                column.name,
                column.name.upper(),
                reader(column.type, entries=reads_entries),
                writer(column.type, _java_double, entries=entry_maps, path=(column.name,) if wraps else ()),
            )
            for column in columns
        ]
        self._wraps = wraps
        # Parse numbers as Decimal only if a column needs their exact digits. For example, a text column contains a
        # number with the digits that were written.
        self._as_decimals = "DECIMAL" in str([str(column.type) for column in columns]) or "STRING" in str(
            [str(column.type) for column in columns]
        )

    def decode(self, data: bytes) -> Any:
        try:
            document = json.loads(data, parse_float=_exact if self._as_decimals else None, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are not JSON: {error}") from error
        if not self._wraps:
            return (self._parts[0][2](document),)
        if document is None:
            return None
        if not isinstance(document, dict):
            raise DecodeError(f"{brief(document)} is not a JSON object")
        return tuple(read(field(document, name, upper)) for name, upper, read, _ in self._parts)

    def encode(self, record: Any) -> bytes:
        if self._wraps:
            row = {name: write(part) for (name, _, _, write), part in zip(self._parts, record, strict=True)}
        else:
            row = self._parts[0][3](record[0])
        return jackson_bytes(row)


def _exact(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except ArithmeticError:
        raise ValueError(f"the exponent of {brief(text)} is beyond all numbers") from None
    return number if number else number.copy_abs()  # Java's zero has no sign


def _java_double(value: float | None) -> Any:
    """Return a value for a double that is encoded as in Java. A key with other bytes would be in another partition."""
    if value is None or value == 0 or 1e-3 <= abs(value) < 1e7:
        return value
    text = text_of_double(value)
    return msgspec.Raw(text.encode()) if math.isfinite(value) else text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
