"""Table functions of a query, such as EXPLODE and CUBE_EXPLODE, which return several rows for one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from forebay.sql.aliases import Item
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundColumn
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import ELSEWHERE, Special, item_of
from forebay.sql.limits import check_items
from forebay.sql.plan import Exploded, Slot, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.relation import Relation
from forebay.sql.syntax import Call, Expression
from forebay.sql.types import ArrayType
from forebay.sql.walk import parts


def explode(relation: Relation, items: Sequence[Item]) -> Relation:
    """Return the relation with the results of the table functions of a SELECT list. Raises SqlError."""
    calls: dict[Expression, TypedExpression] = {}
    for item in items:
        for part in parts(item.expression):
            if isinstance(part, Call) and part.name in TABLE_FUNCTIONS:
                calls.setdefault(part, _array(relation, part))
    if not calls:
        return relation
    if relation.is_table:
        raise SqlError(next(iter(calls)).place, "a table's rows can't be exploded: one key has one row; use a stream")
    start = len(relation.slots)
    slots = tuple(Slot("", array.text, item_of([array.type])) for array in calls.values())
    replaced = {
        call: BoundColumn(f"r[{at}]", slot.type, slot.name)
        for at, (call, slot) in enumerate(zip(calls, slots, strict=True), start)
    }
    step = Exploded(relation.step, tuple(calls.values()), slots)
    return replace(relation, step=step, slots=relation.slots + slots, replaced={**relation.replaced, **replaced})


def _array(relation: Relation, call: Call) -> TypedExpression:
    return TypedExpression(TABLE_FUNCTIONS[call.name](relation.binder(), call), to_sql(call))


def _explode(make: Binder, call: Call) -> Bound:
    if len(call.arguments) != 1:
        raise SqlError(call.place, f"write {call.name}(an array)")
    array = make.of(call.arguments[0])
    if not isinstance(array.type, ArrayType):
        raise SqlError(call.place, f"{call.name} takes an ARRAY, this is {array.type}")
    return array


def _cube_explode(make: Binder, call: Call) -> Bound:
    array = _explode(make, call)
    return make.call(call.name, cube, [array], ArrayType(array.type), (0,))


def cube(values: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return the distinct combinations in which each value is present or null. Raises LimitReached."""
    check_items(2 ** sum(1 for value in values if value is not None), "CUBE_EXPLODE")
    choices = [(None,) if value is None else (None, value) for value in values]
    return tuple(product(*choices))


TABLE_FUNCTIONS: dict[str, Special] = {"EXPLODE": _explode, "CUBE_EXPLODE": _cube_explode}
"""Table functions by name. The items of the array that a function returns become rows."""
ELSEWHERE.append((TABLE_FUNCTIONS, "a table function: write it in a column of a query of a stream"))
