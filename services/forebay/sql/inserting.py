"""Encoding of the record of an INSERT INTO ... VALUES statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.formats import no_contracts
from forebay.sql import evolution
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundRow
from forebay.sql.catalog import ROWTIME, Catalog, Named, Source
from forebay.sql.errors import SqlError
from forebay.sql.generate import function_of
from forebay.sql.printed import to_sql
from forebay.sql.relation import FUNCTIONS
from forebay.sql.schemas.topics import key_of, value_of
from forebay.sql.syntax import Column, Expression, InsertValues, Literal
from forebay.sql.types import BIGINT, INT, NULL
from forebay.sql.values import as_held
from forebay.utils.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class Inserted:
    """A record of INSERT INTO ... VALUES.

    Args:
        key: Encoded key, or None if there are no key columns.
        timestamp: Timestamp (ms), or None for the time of sending.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None


def record_of(statement: InsertValues, catalog: Catalog) -> Inserted:
    """Return the encoded record of a statement. Raises SqlError, EncodeError and errors of the schema registry."""
    source, values = check_values(statement, catalog)
    rows = [tuple(values.get(column.name) for column in columns) for columns in (source.keys, source.values)]
    key = None if not source.keys or set(rows[0]) == {None} else key_of(source).codec(no_contracts).encode(rows[0])
    value = value_of(source).codec(no_contracts).encode(rows[1]) if source.values else None
    return Inserted(source.topic, key, value, values.get(ROWTIME))


def check_values(statement: InsertValues, catalog: Catalog) -> tuple[Source, dict[str, Any]]:
    """Return the source of a statement and the values of its columns. Raises SqlError."""
    source = catalog.get(statement.name, statement.place)
    if source.is_derived or source.is_paused:
        query = "a query that is paused" if source.is_paused else "a query"
        raise SqlError(
            statement.place,
            f"{source.name} is computed by {query}, whose readers would not see the record: insert into what it reads",
        )
    if source.is_read_only:
        raise SqlError(statement.place, evolution.read_only(source, "INSERT INTO ... VALUES"))
    if source.windowing is not None:
        raise SqlError(statement.place, f"{source.name} has windows: INSERT INTO ... VALUES can't write to it")
    names = statement.columns or tuple(column.name for column in source.columns)
    headers = [header.column for header in source.headers if header.column in names or not statement.columns]
    if headers:
        raise SqlError(statement.place, f"{', '.join(headers)}: INSERT INTO can't write columns of headers")
    if len(names) != len(statement.values):
        raise SqlError(
            statement.place,
            f"{len(statement.values)} values for {len(names)} columns: write a value for each of {', '.join(names)}",
        )
    types = {member.name: member for member in (*source.columns, Named(ROWTIME, BIGINT))}
    values: dict[str, Any] = {}
    for name, expression in zip(names, statement.values, strict=True):
        if name not in types:
            known = ", ".join(column.name for column in source.columns)
            raise SqlError(
                expression.place,
                f"there is no column {name}: write one of {known}, {ROWTIME}{did_you_mean(name, types)}",
            )
        if name in values:
            raise SqlError(expression.place, f"the column {name} occurs twice: give each one value")
        values[name] = _value(expression, types[name])
        if name == ROWTIME and values[name] is not None and values[name] < 1:
            # Kafka's client replaces 0 by the current time. The broker stores negative times, but no window contains
            # them.
            raise SqlError(expression.place, f"{ROWTIME} is {values[name]}: write a time in ms since 1970, from 1 on")
    missing = [member.name for member in source.keys if values.get(member.name) is None]
    if source.is_table and missing:
        raise SqlError(statement.place, f"a row of a table needs its key: give {', '.join(missing)} a value")
    return source, values


class _NoNames:
    def resolve(self, column: Column) -> Bound:
        raise SqlError(column.place, f"{column.name} can't be used here: VALUES takes texts in single quotes")


def _value(expression: Expression, column: Named) -> Any:
    """Return the value of an expression in the representation of a column. Raises SqlError."""
    make = Binder(_NoNames(), FUNCTIONS)
    given = make.of(expression)
    cast = make.cast(given, column.type, expression)
    result, held = function_of("", (given, cast))()
    # If any part fails, ksqlDB refuses the statement. In a column of a query, it would be null.
    if not isinstance(expression, Literal) and function_of("", [BoundRow((given,), NULL)], catches=False)() == (None,):
        raise SqlError(
            expression.place, f"{to_sql(expression)} can't be computed for the column {column}: write another value"
        )
    if result is not None and column.type in (INT, BIGINT) and not isinstance(result, str):
        held = as_held(result, column.type)
    if result is not None and held is None:
        raise SqlError(
            expression.place, f"{to_sql(expression)} does not fit the column {column}: write another value, or a CAST"
        )
    return held
