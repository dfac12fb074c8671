"""Table functions of a query: EXPLODE and CUBE_EXPLODE make several rows of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from forebay.sql.aliases import Item
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundColumn
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import ELSEWHERE, Special
from forebay.sql.generate import code_of
from forebay.sql.limits import check_items
from forebay.sql.plan import Code, Exploded, Slot
from forebay.sql.printed import to_sql
from forebay.sql.relation import Relation
from forebay.sql.syntax import Call, Expression
from forebay.sql.types import ArrayType
from forebay.sql.walk import parts


def explode(relation: Relation, items: Sequence[Item]) -> Relation:
    """Return the rows with what the table functions of a SELECT list give. Raises SqlError."""
    calls: dict[Expression, Code] = {}
    for item in items:
        for part in parts(item.expression):
            if isinstance(part, Call) and part.name in TABLE_FUNCTIONS:
                calls.setdefault(part, _code(relation, part))
    if not calls:
        return relation
    if relation.is_table:
        raise SqlError(next(iter(calls)).place, "a table's rows can't be exploded: one key has one row; use a stream")
    start = len(relation.slots)
    slots = tuple(Slot("", to_sql(call), code.type) for call, code in calls.items())
    replaced = {
        call: BoundColumn(f"r[{start + at}]", code.type, to_sql(call)) for at, (call, code) in enumerate(calls.items())
    }
    step = Exploded(relation.step, tuple(calls.values()))
    return replace(relation, step=step, slots=relation.slots + slots, replaced={**relation.replaced, **replaced})


def _code(relation: Relation, call: Call) -> Code:
    make = relation.binder()
    rows = TABLE_FUNCTIONS[call.name](make, call)
    assert isinstance(rows.type, ArrayType)
    return replace(code_of(make, rows, to_sql(call)), type=rows.type.item)


def _explode(make: Binder, call: Call) -> Bound:
    if len(call.arguments) != 1:
        raise SqlError(call.place, f"write {call.name}(an array)")
    array = make.of(call.arguments[0])
    if not isinstance(array.type, ArrayType):
        raise SqlError(call.place, f"{call.name} takes an ARRAY, this is {array.type}")
    return array


def _cube_explode(make: Binder, call: Call) -> Bound:
    array = _explode(make, call)
    return make.apply(call.name, f"{make.constant(cube)}({{0}})", [array], ArrayType(array.type))


def cube(values: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return every combination of the values with nulls in their places, each once. Raises LimitReached."""
    check_items(2 ** sum(1 for value in values if value is not None), "CUBE_EXPLODE")
    choices = [(None,) if value is None else (None, value) for value in values]
    return tuple(product(*choices))


TABLE_FUNCTIONS: dict[str, Special] = {"EXPLODE": _explode, "CUBE_EXPLODE": _cube_explode}
"""Table functions by name: each returns the source of an array, whose items become rows."""
ELSEWHERE.append((TABLE_FUNCTIONS, "a table function: write it in a column of a query of a stream"))
