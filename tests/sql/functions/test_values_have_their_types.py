"""Values have the types of their bound expressions, even if arguments have different numeric types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.functions.loaded import REGISTRY  # noqa: F401 (declares the functions)
from forebay.sql.functions.registry import SIGNATURES, SPECIAL
from forebay.sql.types import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_number,
)
from tests.sql.functions.calls import bind, value_of

NUMBERS: dict[SqlType, Any] = {
    INT: 1,
    BIGINT: 2,
    DOUBLE: 2.5,
    DecimalType(4, 2): Decimal("3.25"),
    DecimalType(6, 1): Decimal("4.5"),
}
SHAPES: dict[str, Callable[[SqlType, Any], tuple[SqlType, Any]]] = {
    "number": lambda kind, value: (kind, value),
    "array": lambda kind, value: (ArrayType(kind), (value, None)),
    "map": lambda kind, value: (MapType(STRING, kind), {f"{kind}": value}),
    "struct": lambda kind, value: (StructType((("A", kind),)), (value,)),
    "array of structs": lambda kind, value: (ArrayType(StructType((("A", kind),))), ((value,),)),
    "map of arrays": lambda kind, value: (MapType(STRING, ArrayType(kind)), {f"{kind}": (value,)}),
}
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "ABS": ("ABS(X)",),
    "ARRAY_CONCAT": ("ARRAY_CONCAT(X, Y)", "ARRAY_CONCAT(X, NULL)"),
    "ARRAY_CONTAINS": ("ARRAY_CONTAINS(X, Y)",),
    "ARRAY_DISTINCT": ("ARRAY_DISTINCT(ARRAY[X, Y])",),
    "ARRAY_EXCEPT": ("ARRAY_EXCEPT(X, Y)",),
    "ARRAY_INTERSECT": ("ARRAY_INTERSECT(X, Y)",),
    "ARRAY_JOIN": ("ARRAY_JOIN(X)",),
    "ARRAY_LENGTH": ("ARRAY_LENGTH(X)",),
    "ARRAY_MAX": ("ARRAY_MAX(ARRAY[X, Y])",),
    "ARRAY_MIN": ("ARRAY_MIN(ARRAY[X, Y])",),
    "ARRAY_REMOVE": ("ARRAY_REMOVE(X, Y)",),
    "ARRAY_SORT": ("ARRAY_SORT(ARRAY[X, Y])",),
    "ARRAY_UNION": ("ARRAY_UNION(X, Y)",),
    "AS_MAP": ("AS_MAP(ARRAY['a', 'b'], ARRAY[X, Y])",),
    "AS_VALUE": ("AS_VALUE(X)",),
    "CARDINALITY": ("CARDINALITY(X)",),
    "CEIL": ("CEIL(X)",),
    "COALESCE": ("COALESCE(X, Y)", "COALESCE(NULL, X, Y)"),
    "ELT": ("ELT(1, X, Y)", "ELT(2, X, Y)"),
    "ENTRIES": ("ENTRIES(MAP('a' := X, 'b' := Y), TRUE)", "ENTRIES(X, TRUE)"),
    "FIELD": ("FIELD(X, Y)",),
    "FILTER": ("FILTER(ARRAY[X, Y], z => TRUE)", "FILTER(X, (k, v) => TRUE)"),
    "FLOOR": ("FLOOR(X)",),
    "GREATEST": ("GREATEST(X, Y)",),
    "IFNULL": ("IFNULL(X, Y)",),
    "JSON_ARRAY_CONTAINS": ("JSON_ARRAY_CONTAINS('[1]', X)",),
    "LEAST": ("LEAST(X, Y)",),
    "MAP_KEYS": ("MAP_KEYS(X)",),
    "MAP_UNION": ("MAP_UNION(X, Y)",),
    "MAP_VALUES": ("MAP_VALUES(MAP('a' := X, 'b' := Y))",),
    "NULLIF": ("NULLIF(X, Y)",),
    "REDUCE": ("REDUCE(ARRAY[X], Y, (s, x) => x)", "REDUCE(ARRAY[X], Y, (s, x) => COALESCE(x, s))"),
    "ROUND": ("ROUND(X)", "ROUND(X, 1)"),
    "SIGN": ("SIGN(X)",),
    "SLICE": ("SLICE(ARRAY[X, Y], 1, 2)",),
    "TO_JSON_STRING": ("TO_JSON_STRING(X)",),
    "TRANSFORM": ("TRANSFORM(ARRAY[1, 2], z => CASE WHEN z = 1 THEN X ELSE Y END)",),
    "TRUNC": ("TRUNC(X)", "TRUNC(X, 1)"),
}
"""Calls of each function whose parameters may have several types."""
OPERATORS = (
    *(f"X {operator} Y" for operator in ("+", "-", "*", "/", "%")),
    "-X",
    "ARRAY[X, Y]",
    "ARRAY[NULL, X, Y]",
    "MAP('a' := X, 'b' := Y)",
    "STRUCT(a := X, b := Y)",
    "CASE WHEN TRUE THEN X ELSE Y END",
    "CASE WHEN FALSE THEN X ELSE Y END",
    "ARRAY[X, Y][1]",
)
_WITHOUT_NUMBERS = {"CONCAT", "TIMESTAMPADD", "TIMESTAMPSUB", "DATEADD", "DATESUB", "TIMEADD", "TIMESUB"}


def fits(value: Any, kind: SqlType) -> bool:
    """Return whether the Python type of a value is that of its SQL type."""
    if value is None:
        return True
    match kind:
        case ArrayType(item):
            return isinstance(value, tuple) and all(fits(element, item) for element in value)
        case MapType(key, content):
            return isinstance(value, dict) and all(fits(k, key) and fits(v, content) for k, v in value.items())
        case StructType(fields):
            pairs = zip(value, fields, strict=True)
            return isinstance(value, tuple) and all(fits(element, part) for element, (_, part) in pairs)
        case DecimalType(_, scale):
            return isinstance(value, Decimal) and value.as_tuple().exponent == -scale
    return not is_number(kind) or type(value) is (float if kind == DOUBLE else int)


def pairs(shape: str) -> Iterator[dict[str, tuple[SqlType, Any]]]:
    for one, other in product(NUMBERS, NUMBERS):
        yield {"X": SHAPES[shape](one, NUMBERS[one]), "Y": SHAPES[shape](other, NUMBERS[other])}


@pytest.mark.parametrize("text", [*OPERATORS, *(text for texts in FUNCTIONS.values() for text in texts)])
def test_a_value_has_the_type_that_it_is_bound_with(text: str) -> None:
    accepted = 0
    for shape in SHAPES:
        for columns in pairs(shape):
            try:
                kind = bind(text, {name: kind for name, (kind, _) in columns.items()}).type
            except SqlError:
                continue  # the function does not accept these types of arguments
            accepted += 1
            value = value_of(text, columns)
            assert fits(value, kind), f"{text} of {columns} is {value!r}, which is no {kind}"
    assert accepted


def test_the_table_has_every_function_that_takes_several_types() -> None:
    generic = {
        name
        for name, signatures in SIGNATURES.items()
        if any(letter[0] in "nactm*" and letter != "as" for item in signatures for letter in item.parameters)
    }
    assert (generic | set(SPECIAL)) - _WITHOUT_NUMBERS - set(FUNCTIONS) == set()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("ARRAY_CONTAINS(X, 0)", True),
        ("ARRAY_REMOVE(X, 0)", (-0.0, 1.5)),
        ("ARRAY_EXCEPT(X, ARRAY[0])", (-0.0, 1.5)),
        ("ARRAY_INTERSECT(ARRAY[0, 5], X)", (0,)),
        ("ARRAY_UNION(ARRAY[0, 5], X)", (0.0, 5.0, -0.0, 1.5)),
    ],
)
def test_a_whole_number_equals_a_double_of_its_value(text: str, result: Any) -> None:
    assert repr(value_of(text, {"X": (ArrayType(DOUBLE), (-0.0, 0.0, 1.5))})) == repr(result)
