"""The common type of the values in a list (IN, ARRAY, COALESCE), which the first value determines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from forebay.sql import casts
from forebay.sql.bound import Bound, BoundLiteral
from forebay.sql.errors import SqlError
from forebay.sql.literals import type_of_literal
from forebay.sql.syntax import ArrayOf, Expression, Literal, MapOf, StructOf
from forebay.sql.types import (
    BOOLEAN,
    DOUBLE,
    NULL,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
    common,
    is_number,
)

if TYPE_CHECKING:
    from forebay.sql.binding import Binder

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_POWER_OF_TEN = re.compile(_NUMBER.pattern + r"[eE][+-]?[0-9]{1,2}")


def alike(make: Binder, values: Sequence[Bound], where: Expression) -> tuple[list[Bound], SqlType]:
    """Return values converted to their common type, and the type. Raises SqlError."""
    kind: SqlType = NULL
    # As in ksqlDB's CoercionUtil, the first value that is not null decides between texts and other types.
    lead = next((value.type for value in values if value.type != NULL), NULL)
    others = [value.type for value in values if value.type not in (STRING, NULL)]
    if lead == STRING:  # numbers and BOOLEANs that are written down behind a text are texts
        values = [_as_text(value) for value in values]
    elif others:  # string literals take the type of the other values
        values = [_read(make, value, others[0], where) for value in values]
    for value in values:
        shared = common(kind, value.type)
        if shared is None:
            raise SqlError(where.place, f"{kind} and {value.type} don't go together: CAST one to the other's type")
        kind = shared
    return [make.cast(value, kind, where) for value in values], kind


def bind_nested(make: Binder, expressions: Sequence[Expression]) -> list[Bound]:
    """Bind the expressions of a list. Texts in ARRAY, MAP and STRUCT become numbers if the first value has numbers.

    Raises SqlError.
    """
    if not any(isinstance(expression, ArrayOf | MapOf | StructOf) for expression in expressions):
        return [make.of(expression) for expression in expressions]
    leads: list[Bound] = []
    while len(leads) < len(expressions) and (not leads or leads[-1].type == NULL):
        leads.append(make.of(expressions[len(leads)]))
    lead = leads[-1].type
    converted = [_within(expression, lead) for expression in expressions]
    # Binding an unchanged expression again would double the time with each level of nesting.
    return [
        leads[at] if at < len(leads) and expression == expressions[at] else make.of(expression)
        for at, expression in enumerate(converted)
    ]


def _within(expression: Expression, kind: SqlType) -> Expression:
    match expression, kind:
        case ArrayOf(items), ArrayType(item):
            return replace(expression, items=tuple(_within(part, item) for part in items))
        case MapOf(entries), MapType(key, value):
            pairs = tuple((_within(name, key), _within(part, value)) for name, part in entries)
            return replace(expression, entries=pairs)
        case StructOf(fields), StructType():
            types = dict(kind.fields)
            return replace(
                expression, fields=tuple((name, _within(part, types.get(name, NULL))) for name, part in fields)
            )
        case Literal(str() as text), _ if is_number(kind) and _NUMBER.fullmatch(text.strip()):
            return replace(expression, value=_number_of(text.strip()))
    return expression


def _number_of(text: str) -> Decimal | int:
    return int(text) if text.lstrip("+-").isdecimal() else Decimal(f"{Decimal(text):f}")


def _as_text(value: Bound) -> Bound:
    """Return a literal number or BOOLEAN as a text literal. Other values are returned unchanged."""
    match value:
        case BoundLiteral(bool() as boolean):
            return BoundLiteral(str(boolean).lower(), STRING)
        case BoundLiteral(Decimal() as number):
            return BoundLiteral(f"{number:f}", STRING)
        case BoundLiteral(int() as number):
            return BoundLiteral(str(number), STRING)
    return value


def _read(make: Binder, value: Bound, kind: SqlType, where: Expression) -> Bound:
    if not isinstance(value, BoundLiteral) or not isinstance(value.value, str):
        return value
    if is_number(kind):
        return _number(make, value, kind, where)
    if kind == BOOLEAN:
        if casts.boolean_of(value.value) is None:
            raise SqlError(where.place, f"{value.value!r} is not a BOOLEAN: write true or false")
        return make.cast(value, kind, where)
    return value


def _number(make: Binder, value: BoundLiteral, kind: SqlType, where: Expression) -> Bound:
    """Return a text literal as a number literal of the type that the number has."""
    text = value.value.strip()
    if _NUMBER.fullmatch(text) or _POWER_OF_TEN.fullmatch(text):
        number = _number_of(text)
        return BoundLiteral(number, type_of_literal(number))
    try:
        float(text)
    except ValueError as error:
        raise SqlError(where.place, f"{value.value!r} is not a valid {kind}: write a number") from error
    return make.cast(value, DOUBLE, where)
