"""Conversion of a row to the text of an INSERT INTO ... VALUES statement."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from forebay.dbapi.literals import WrongParameter, literal
from forebay.sql.catalog import ROWTIME
from forebay.sql.reader import Reader
from forebay.sql.tokens import tokens_of
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
    MapType,
    SqlType,
    StructType,
    is_number,
)
from forebay.utils.spelling import did_you_mean

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"`([^`]|``)+`")
_MOST_DIGITS = 100
_BITS: dict[SqlType, int] = {INT: 32, BIGINT: 64}
_EXAMPLES: dict[SqlType, str] = {
    BOOLEAN: "write true or false",
    STRING: 'write a text such as "a"',
    BYTES: 'write a text in base64 such as "AQI="',
    DATE: 'write a text such as "2020-01-31"',
    TIME: 'write a text such as "10:00:00"',
    TIMESTAMP: 'write a text such as "2020-01-31T10:00:00"',
}


class WrongRow(ValueError):
    """A row can't be converted to a statement. The message names the column, and says what to write."""


def json_value(text: str) -> Any:
    """Return the value of a JSON text. Numbers with a decimal point are Decimals.

    Raises:
        WrongRow: An object has two fields with the same name. `json` would silently use the last one.
        ValueError, RecursionError: The text is not valid JSON.
    """
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise WrongRow(f"{json.dumps(name, ensure_ascii=False)} occurs twice in one object: leave one out")
        result[name] = value
    return result


def name_of(text: str) -> str:
    """Return a name from the command line as an SQL identifier, which is upper case unless it is in backticks.

    Raises WrongRow.
    """
    if not _WORD.fullmatch(text) and not _QUOTED.fullmatch(text):
        raise WrongRow(f"{text!r} is not a name: write a word, or put it into backticks")
    return text[1:-1].replace("``", "`") if text.startswith("`") else text.upper()


def insert_of(target: str, row: Sequence[tuple[str, Any]], described: Mapping[str, str]) -> str:
    """Return the statement that inserts a row.

    Args:
        target: Name of the stream or table.
        row: Values by column, as `json_value` returns them. The case of a column's name may differ from its
            declaration.
        described: Types by column, as DESCRIBE returns them.

    Raises:
        WrongRow: A value does not fit the type of its column. For unknown columns the statement contains NULL, so that
            INSERT refuses them.
    """
    types = {name: _type_of(text) for name, text in described.items()} | {ROWTIME: BIGINT}
    columns, values = [], []
    for given, value in row:
        column = given if given in types else given.upper() if given.upper() in types else given
        columns.append(_in_backticks(column))
        try:
            values.append(_literal(value, types[column]) if column in types else "NULL")
        except (TypeError, WrongParameter) as error:
            shown = json.dumps(value, ensure_ascii=False, default=str)
            raise WrongRow(f"{column}: {shown} is not a valid {types[column]}: {error}") from error
    return f"INSERT INTO {_in_backticks(target)} ({', '.join(columns)}) VALUES ({', '.join(values)});"


def value_of(text: str, described: str | None) -> Any:
    """Return the value of a text from the command line in a column of a type. The type is None if it is not known.

    Raises WrongRow if the text is not a value of the type.
    """
    kind = STRING if described is None else _type_of(described)
    if kind in (STRING, BYTES, *TIMES):
        return text
    try:
        return json_value(text.lower() if kind == BOOLEAN else text)
    except WrongRow:
        raise
    except (ValueError, RecursionError) as error:
        raise WrongRow(f"{text!r} is not a valid {kind}: {_remedy(kind)}") from error


def _type_of(text: str) -> SqlType:
    return Reader(text, tokens_of(text, "")).type()


def _in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(value: Any, kind: SqlType) -> str:
    """Return a value as an SQL literal. Raises WrongParameter, or TypeError with a message that says what to write.

    The literal contains no CAST, because a CAST that fails would be a null that INSERT accepts.
    """
    if value is None:
        return "NULL"
    match kind, value:
        case ArrayType(item), list():
            return f"ARRAY[{', '.join(_literal(element, item) for element in value)}]"
        case MapType(key, content), dict():
            pairs = [f"{_literal(name, key)} := {_literal(element, content)}" for name, element in value.items()]
            return f"MAP({', '.join(pairs)})"
        case StructType(), dict():
            return _struct(value, kind)
    if isinstance(value, bool) or isinstance(kind, ArrayType | MapType | StructType):
        if kind == BOOLEAN:
            return literal(value)
    elif isinstance(value, str):
        if kind in (STRING, BYTES, *TIMES):
            return literal(value)
    elif isinstance(value, int | Decimal) and is_number(kind):
        return _number(value, kind)
    raise TypeError(_remedy(kind))


def _number(value: int | Decimal, kind: SqlType) -> str:
    if kind == DOUBLE:
        double = float(Decimal(value))
        if not isfinite(double):
            raise TypeError("write a number below 1.8e308")
        return literal(double)
    if kind in _BITS:
        # A CAST within an array would silently wrap a number that is too large.
        limit = 1 << _BITS[kind] - 1
        if isinstance(value, Decimal) or not -limit <= value < limit:
            raise TypeError(_remedy(kind))
    elif isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_DIGITS:
        # For example, 1e999999999 would be written with as many zeros.
        raise TypeError(f"write at most {_MOST_DIGITS} digits")
    return literal(value)


def _struct(value: dict[str, Any], kind: StructType) -> str:
    types = dict(kind.fields)
    parts = []
    for given, part in value.items():
        name = given if given in types else given.upper()
        if name not in types:
            raise TypeError(f"there is no field {given}: write one of {', '.join(types)}{did_you_mean(name, types)}")
        parts.append(f"{_in_backticks(name)} := {_literal(part, types[name])}")
    return f"STRUCT({', '.join(parts)})"


def _remedy(kind: SqlType) -> str:
    match kind:
        case ArrayType():
            return "write a list in JSON, such as [1, 2]"
        case MapType() | StructType():
            return 'write an object in JSON, such as {"a": 1}'
    if kind in _BITS:
        return f"write a whole number of at most {_BITS[kind]} bits, such as 5"
    if is_number(kind):
        return "write a number such as 1.5"
    return _EXAMPLES[kind]
