"""Checks of columns against the capabilities of formats, and reserved column names. The rules are those of ksqlDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forebay.sql.catalog import BOUNDS, FRAMED, PSEUDO, Encoding, Named, Source
from forebay.sql.errors import Place, SqlError
from forebay.sql.syntax import Column, Query
from forebay.sql.types import BIGINT, BYTES, DOUBLE, INT, STRING, ArrayType, MapType, SqlType, StructType, parts_of
from forebay.sql.written_options import Options

RESERVED = (*PSEUDO, *BOUNDS)
"""Names of the pseudo columns of records and windows."""
_OF_KAFKA = (INT, BIGINT, DOUBLE, STRING, BYTES)
_OF_AVRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NESTED = (ArrayType, MapType, StructType)
_WRAPPING = ("JSON", "JSON_SR", "AVRO")


@dataclass(frozen=True, slots=True)
class Written:
    """The places of a statement's parts.

    Args:
        columns: Places of the columns, by name.
        place: Place of the statement.
    """

    columns: Mapping[str, Place]
    given: Options
    place: Place

    def of(self, name: str) -> Place:
        """Return the place of a column."""
        return self.columns.get(name, self.place)

    def option(self, *names: str) -> Place:
        """Return the place of the first of these options that is specified."""
        return next((self.given.places[name] for name in names if name in self.given.places), self.place)


def check_source(source: Source, written: Written) -> None:
    """Raise SqlError for columns that the formats of a topic do not support, and for options without effect."""
    for name in (*(column.name for column in source.columns), *(header.column for header in source.headers)):
        is_made = source.is_derived and name not in written.columns and any(key.name == name for key in source.keys)
        if name in RESERVED and not is_made:
            raise SqlError(
                written.of(name),
                f"every record has a {name}: give the column another name, such as MY_{name}",
            )
    for column in source.keys:
        if any(isinstance(part, MapType) for part in parts_of(column.type)):
            raise SqlError(
                written.of(column.name),
                f"the key column {column} holds a MAP, whose entries have no order, so equal keys could be different "
                f"bytes: use one of its values as the key, such as {column.name}['name']",
            )
    if not source.keys and "KEY_FORMAT" in written.given and source.encoding.key != "NONE" and source.is_derived:
        raise SqlError(written.option("KEY_FORMAT"), "KEY_FORMAT is for a key, and the result has none: leave it out")
    _check_format("KEY_FORMAT", source.encoding.key, source.keys, written)
    _check_format("VALUE_FORMAT", source.encoding.value, source.values, written)
    _check_wrapping(source.encoding, source.values, written)
    _check_schema_names(source.encoding, written)
    if source.windowing is not None and not source.keys:
        raise SqlError(
            written.option("WINDOW_TYPE"), "windows are part of a key: write KEY behind a column, or omit WINDOW_TYPE"
        )


def places_of(query: Query) -> dict[str, Place]:
    """Return the places of a query's columns, by their names in the result."""
    places: dict[str, Place] = {}
    for selected in query.select:
        expression = selected.expression
        name = selected.alias or (expression.name if isinstance(expression, Column) else "")
        if name:
            places[name] = expression.place
    return places


def _check_format(option: str, kind: str, columns: tuple[Named, ...], written: Written) -> None:
    if kind == "NONE" and columns:
        names = ", ".join(column.name for column in columns)
        raise SqlError(
            written.option(option, "FORMAT"), f"{option} NONE writes no columns, and there is {names}: write JSON"
        )
    if kind == "KAFKA" and len(columns) > 1:
        names = ", ".join(column.name for column in columns)
        raise SqlError(
            written.option(option, "FORMAT"), f"KAFKA holds a single column, not {names}: write {option} = 'JSON'"
        )
    for column in columns:
        if kind == "KAFKA" and column.type not in _OF_KAFKA:
            allowed = ", ".join(map(str, _OF_KAFKA))
            raise SqlError(
                written.of(column.name), f"KAFKA holds {allowed}, not {column}: write {option} = 'JSON', or CAST it"
            )
        if kind == "DELIMITED" and isinstance(column.type, _NESTED):
            raise SqlError(written.of(column.name), f"DELIMITED holds no {column}: write {option} = 'JSON'")
        for part in parts_of(column.type):
            if isinstance(part, MapType) and part.key != STRING and kind in FRAMED:
                raise SqlError(
                    written.of(column.name),
                    f"{kind} has maps with keys of type STRING, not {column}: write MAP<STRING, {part.value}>",
                )
        if kind == "AVRO":
            _check_avro(column, option, written)


def _check_avro(column: Named, option: str, written: Written) -> None:
    for name in (column.name, *_fields(column.type)):
        if not _OF_AVRO.fullmatch(name):
            raise SqlError(
                written.of(column.name),
                f"AVRO has no field named {name!r}: use letters, digits and _ only, or write {option} = 'JSON'",
            )


def _fields(kind: SqlType) -> Iterator[str]:
    for part in parts_of(kind):
        if isinstance(part, StructType):
            yield from (name for name, _ in part.fields)


def _check_wrapping(encoding: Encoding, values: tuple[Named, ...], written: Written) -> None:
    wraps = written.given.get("WRAP_SINGLE_VALUE")
    if wraps is None:
        return
    place = written.option("WRAP_SINGLE_VALUE")
    if len(values) > 1:
        raise SqlError(place, "WRAP_SINGLE_VALUE is for a single column: leave it out")
    if wraps and encoding.value in ("KAFKA", "DELIMITED"):
        raise SqlError(place, f"{encoding.value} writes a column without a name around it: leave WRAP_SINGLE_VALUE out")
    if not wraps and encoding.value not in (*_WRAPPING, "KAFKA", "DELIMITED"):
        raise SqlError(place, f"{encoding.value} writes fields by name: leave WRAP_SINGLE_VALUE out, or write TRUE")


def _check_schema_names(encoding: Encoding, written: Written) -> None:
    for part, kind in (("KEY", encoding.key), ("VALUE", encoding.value)):
        for option in (f"{part}_SCHEMA_FULL_NAME", f"{part}_AVRO_SCHEMA_FULL_NAME"):
            name = written.given.get(option)
            if name is None:
                continue
            if kind not in FRAMED:
                raise SqlError(written.option(option), f"{option} is for {', '.join(FRAMED)}, not {kind}: leave it out")
            if not str(name).strip():
                raise SqlError(written.option(option), f"{option} is empty: write a name such as com.example.Order")
