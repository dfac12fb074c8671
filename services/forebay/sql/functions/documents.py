"""Functions for texts that contain JSON."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from forebay.sql import instants
from forebay.sql.arithmetic import text_of_double
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.encodings.readers import key_text
from forebay.sql.functions.registry import function, special
from forebay.sql.limits import create_letters
from forebay.sql.syntax import Call
from forebay.sql.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

_STEP = re.compile(r"\.([\w:@$-]+)|\[(-?\w+)\]|\[\"((?:[^\"\\]|\\[\"\\])*)\"\]|\['([^']*)'\]")
_LONGEST_PATH = 1_000
_BLANKS = " \t\n\r"
_MISSING = object()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)


def load_json(text: str) -> Any:
    """Return the JSON value at the beginning of a text, or `_MISSING` for blanks. Raises ValueError."""
    plain = text.lstrip(_BLANKS)
    if not plain:
        return _MISSING
    value, end = _DECODER.raw_decode(plain)
    # As in Jackson, a number ends at a blank, and a word is not followed by a letter. Therefore 01, 1. and truex are
    # invalid.
    follows = plain[end : end + 1]
    if isinstance(value, bool) or value is None:
        is_open = f"_{follows}".isidentifier() and follows != ""
    else:
        is_open = isinstance(value, int | Decimal) and follows not in _BLANKS
    if is_open:
        raise ValueError(f"{plain[: end + 1][-80:]!r} is not JSON")
    return value


def dump_json(value: Any, *, plain: bool = False) -> str:
    """Return a JSON value as text. Numbers have the digits with which they were read.

    Args:
        value: The value.
        plain: Whether numbers are written without exponents.
    """
    match value:
        case Decimal():
            number = value if value else value.copy_abs()
            is_plain = (plain or not value) and abs(value.adjusted()) < _MOST_ZEROS
            return f"{number:f}" if is_plain else str(number)
        case dict():
            return (
                "{" + ",".join(f"{_quote(name)}:{dump_json(part, plain=plain)}" for name, part in value.items()) + "}"
            )
        case list():
            return f"[{','.join(dump_json(part, plain=plain) for part in value)}]"
    return json.dumps(value, ensure_ascii=False)


_MOST_ZEROS = 1_000


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value)


@lru_cache(1024)
def steps_of(path: str) -> tuple[str, ...]:
    """Return the names and numbers of a path such as $.a.b[0]. Raises ValueError if the path is invalid."""
    if len(path) > _LONGEST_PATH:
        raise ValueError(f"a path has {len(path)} characters, at most {_LONGEST_PATH} are allowed")
    steps: list[str] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            break
        name = next(group for group in step.groups() if group is not None)
        steps.append(re.sub(r"\\(.)", r"\1", name))
        at = step.end()
    if not path.startswith("$") or at < len(path):
        raise ValueError(f"{path!r} is not a path: write $.field[0].field")
    return tuple(steps)


def extract(text: str, path: str) -> str | None:
    """Return the part of a JSON text at a path such as $.a.b[0], or None if it does not exist. Raises ValueError."""
    result = load_json(text)
    for step in steps_of(path):
        if isinstance(result, list):
            if not step.isdecimal() or int(step) >= len(result):
                return None
            result = result[int(step)]
        elif isinstance(result, dict) and step in result:
            result = result[step]
        else:
            return None
    return None if result is _MISSING else _as_text(result)


def is_json(text: str | None) -> bool:
    """Return whether a text is valid JSON."""
    try:
        return text is not None and load_json(text) is not _MISSING
    except (ValueError, ArithmeticError, RecursionError):
        return False


def keys(text: str) -> tuple[str, ...] | None:
    """Return the names of a JSON object's fields, or None if the JSON is not an object. Raises ValueError."""
    result = load_json(text)
    return tuple(result) if isinstance(result, dict) else None


def records(text: str) -> dict[str, str] | None:
    """Return the fields of a JSON object with values as text, or None if it is not an object. Raises ValueError."""
    result = load_json(text)
    return {name: _as_text(value) for name, value in result.items()} if isinstance(result, dict) else None


def items(text: str) -> tuple[str, ...]:
    """Return the items of a JSON array as texts. Raises ValueError if it is not an array."""
    result = load_json(text)
    if not isinstance(result, list):
        raise TypeError("the text is not an array")
    return tuple(map(dump_json, result))


def contains(text: str | None, sought: Any) -> bool | None:
    """Return whether a JSON array contains a value of the same type. A DOUBLE does not equal a whole number."""
    if text is None:
        return None
    try:
        result = load_json(text)
    except (ValueError, ArithmeticError, RecursionError):
        return False
    if not isinstance(result, list) or isinstance(sought, Decimal):
        return False
    values = (float(item) if isinstance(item, Decimal) else item for item in result)
    return any(type(item) is type(sought) and item == sought for item in values)


def length(text: str) -> int | None:
    """Return the number of items of a JSON array, or None if it is not an array. Raises ValueError."""
    result = load_json(text)
    return len(result) if isinstance(result, list) else None


def concat(*texts: str) -> str | None:
    """Return JSON objects merged into one object, or other JSON as one array. Raises ValueError, LimitReached."""
    create_letters(sum(map(len, texts)), "JSON_CONCAT")
    results = [load_json(text) for text in texts]
    if _MISSING in results or not results:
        return None
    if all(isinstance(item, dict) for item in results):
        return dump_json({name: value for item in results for name, value in item.items()}, plain=True)
    if len(results) == 1:
        return dump_json(results[0], plain=True)
    return dump_json(
        [item for element in results for item in (element if isinstance(element, list) else [element])], plain=True
    )


def json_writer(kind: SqlType) -> Callable[[Any], str]:
    """Return a function that converts a value or None to JSON, with fields by name, and dates and times as texts."""
    write = _json_writer(kind)
    return lambda value: "null" if value is None else write(value)


def _json_writer(kind: SqlType) -> Callable[[Any], str]:
    match kind:
        case DecimalType():
            return lambda value: f"{value:f}"
        case ArrayType(item):
            element = json_writer(item)
            return lambda values: f"[{','.join(map(element, values))}]"
        case MapType(_, inner):
            one = json_writer(inner)
            return lambda values: _object(sorted((key_text(key), one(value)) for key, value in values.items()))
        case StructType(fields):
            parts = sorted((name, at, json_writer(part)) for at, (name, part) in enumerate(fields))
            return lambda value: _object([(name, write(value[at])) for name, at, write in parts])
    times: dict[SqlType, Callable[[Any], str]] = {
        TIMESTAMP: instants.text_of_timestamp,
        DATE: instants.text_of_date,
        TIME: instants.text_of_time,
        BYTES: lambda value: base64.b64encode(value).decode(),
    }
    if kind in times:
        shown = times[kind]
        return lambda value: _quote(shown(value))
    if kind == DOUBLE:
        return lambda value: text_of_double(value) if math.isfinite(value) else _quote(text_of_double(value))
    return lambda value: json.dumps(value, ensure_ascii=False)


def _object(fields: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_quote(name)}:{value}" for name, value in fields) + "}"


@special("TO_JSON_STRING", 1, 1)
def _to_json(make: Binder, call: Call) -> Bound:
    value = make.of(call.arguments[0])
    return make.call(call.name, json_writer(value.type), [value], STRING)


def _check_path(_text: object, path: object) -> None:
    if isinstance(path, str):
        steps_of(path)


function("EXTRACTJSONFIELD", "s s", STRING, extract, check=_check_path)
function("IS_JSON_STRING", "s", BOOLEAN, is_json, takes_null=True)
function("JSON_KEYS", "s", ArrayType(STRING), keys)
function("JSON_RECORDS", "s", MapType(STRING, STRING), records)
function("JSON_ITEMS", "s", ArrayType(STRING), items)
function("JSON_ARRAY_CONTAINS", "s *", BOOLEAN, contains, takes_null=True)
function("JSON_ARRAY_LENGTH", "s", INT, length)
function("JSON_CONCAT", "s+", STRING, concat, is_limited=True)
