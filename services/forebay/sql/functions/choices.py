"""Functions that choose one of their arguments."""

from __future__ import annotations

from typing import Any

from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundCoalesce, BoundNullIf
from forebay.sql.functions.registry import special
from forebay.sql.syntax import Call
from forebay.sql.types import INT


@special("COALESCE IFNULL", 1)
def _coalesce(make: Binder, call: Call) -> Bound:
    values, kind = make.alike([make.of(argument) for argument in call.arguments], call)
    return BoundCoalesce(tuple(values), kind, not make.standard)


@special("NULLIF", 2, 2)
def _nullif(make: Binder, call: Call) -> Bound:
    (one, other), kind = make.alike([make.of(argument) for argument in call.arguments], call)
    return BoundNullIf(one, other, kind)


@special("ELT", 2)
def _elt(make: Binder, call: Call) -> Bound:
    number = make.of(call.arguments[0])
    values, kind = make.alike([make.of(argument) for argument in call.arguments[1:]], call)
    return make.call(call.name, _value_at, [number, *values], kind, (0,))


def _value_at(at: int, *values: Any) -> Any:
    return values[at - 1] if 0 < at <= len(values) else None


@special("FIELD", 1)
def _field(make: Binder, call: Call) -> Bound:
    values = [make.of(argument) for argument in call.arguments]
    return make.call(call.name, _place_of, values, INT)


def _place_of(sought: Any, *values: Any) -> int:
    return 0 if sought is None or sought not in values else values.index(sought) + 1


@special("AS_VALUE", 1, 1)
def _as_value(make: Binder, call: Call) -> Bound:
    return make.of(call.arguments[0])
