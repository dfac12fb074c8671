"""Calls of functions in `cases.json` return ksqlDB's results.

A case has a call, its columns with their types, and the result. Doubles and decimals are written as text, and bytes as
hexadecimal digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forebay.sql.statements import parse
from forebay.sql.syntax import CreateSource
from forebay.sql.types import BYTES, DOUBLE, ArrayType, DecimalType, MapType, SqlType
from tests.sql.functions.calls import type_of, value_of

CASES: list[Any] = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


def kind_of(text: str) -> SqlType:
    """Return the type with a name such as ARRAY<INTEGER>."""
    (statement,) = parse(f"CREATE STREAM s (c {text}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');")
    assert isinstance(statement, CreateSource)
    return statement.columns[0].type


def value_from(kind: SqlType, shown: Any) -> Any:
    """Return the value of a type from its form in the file."""
    match kind:
        case ArrayType(item):
            return None if shown is None else tuple(value_from(item, element) for element in shown)
        case MapType(_, value):
            return None if shown is None else {key: value_from(value, element) for key, element in shown.items()}
        case DecimalType():
            return None if shown is None else Decimal(shown)
    readers: dict[SqlType, Callable[[str], Any]] = {DOUBLE: float, BYTES: bytes.fromhex}
    return readers[kind](shown) if kind in readers and shown is not None else shown


def is_same(one: Any, other: Any) -> bool:
    """Return whether values are equal. 0.0 and -0.0 differ. Doubles may differ in their last digits by C library."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=1e-12) and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_call_gives_the_result_of_ksqldb(case: tuple[str, dict[str, Any], Any]) -> None:
    call, shown, wanted = case
    types = {name: kind_of(kind) for name, (kind, _) in shown.items()}
    columns = {name: (kind, value_from(kind, shown[name][1])) for name, kind in types.items()}
    assert is_same(value_of(call, columns), value_from(type_of(call, types), wanted))
