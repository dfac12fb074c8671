"""Finds the common type of the values in a list (IN, ARRAY, COALESCE); the first value decides."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from forebay.sql import casts
from forebay.sql.errors import SqlError
from forebay.sql.literals import type_of_literal
from forebay.sql.syntax import Expression
from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, SqlType, common, is_number

if TYPE_CHECKING:
    from forebay.sql.generate import Generator, Typed

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")


def alike(make: Generator, values: Sequence[Typed], where: Expression) -> tuple[list[str], SqlType]:
    """Return the sources of values as their common type. Raises SqlError."""
    kind: SqlType = NULL
    # ksqlDB's CoercionUtil lets the first value that is not null decide between texts and other types.
    lead = next((value.type for value in values if value.type != NULL), NULL)
    others = [value.type for value in values if value.type not in (STRING, NULL)]
    if lead == STRING:  # numbers and BOOLEANs that are written down behind a text are texts
        values = [_as_text(make, value) for value in values]
    elif others:  # string literals take the type of the other values
        values = [_read(make, value, others[0], where) for value in values]
    for value in values:
        shared = common(kind, value.type)
        if shared is None:
            raise SqlError(where.place, f"{kind} and {value.type} don't go together: CAST one to the other's type")
        kind = shared
    return [make.cast(value, kind, where).source for value in values], kind


def _as_text(make: Generator, value: Typed) -> Typed:
    """Return a number or BOOLEAN that is written down as the text that it is."""
    constant = make.namespace.get(value.source)
    if isinstance(constant, Decimal):
        return value._replace(source=repr(f"{constant:f}"), type=STRING)
    if value.type in (INT, BIGINT) and value.source.lstrip("-").isdecimal():
        return value._replace(source=repr(value.source), type=STRING)
    if value.type == BOOLEAN and value.source in ("True", "False"):
        return value._replace(source=repr(value.source.lower()), type=STRING)
    return value


def _read(make: Generator, value: Typed, kind: SqlType, where: Expression) -> Typed:
    if value.type != STRING or value.source[:1] not in ("'", '"'):
        return value
    if is_number(kind):
        return _number(make, value, kind, where)
    if kind == BOOLEAN:
        if casts.boolean_of(literal_eval(value.source)) is None:
            raise SqlError(where.place, f"{value.source} is no BOOLEAN: write true or false")
        return make.cast(value, kind, where)
    return value


def _number(make: Generator, value: Typed, kind: SqlType, where: Expression) -> Typed:
    """Return a text that is written down as the number that it is, of its own type."""
    text = str(literal_eval(value.source)).strip()
    if _NUMBER.fullmatch(text):
        number: Decimal | int = Decimal(text) if "." in text else int(text)
        source = make.constant(number) if isinstance(number, Decimal) else repr(number)
        return value._replace(source=source, type=type_of_literal(number))
    try:
        float(text)
    except ValueError as error:
        raise SqlError(where.place, f"{value.source} is no {kind}: write a number") from error
    return make.cast(value, DOUBLE, where)
