"""Functions that choose one of their arguments."""

from __future__ import annotations

from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundCoalesce, BoundNullIf
from forebay.sql.functions.registry import special, template_of
from forebay.sql.syntax import Call
from forebay.sql.types import INT


@special("COALESCE IFNULL", 1)
def _coalesce(make: Binder, call: Call) -> Bound:
    values, kind = make.alike([make.of(argument) for argument in call.arguments], call)
    return BoundCoalesce(tuple(values), kind)


@special("NULLIF", 2, 2)
def _nullif(make: Binder, call: Call) -> Bound:
    (one, other), kind = make.alike([make.of(argument) for argument in call.arguments], call)
    return BoundNullIf(one, other, kind)


@special("ELT", 2)
def _elt(make: Binder, call: Call) -> Bound:
    number = make.of(call.arguments[0])
    values, kind = make.alike([make.of(argument) for argument in call.arguments[1:]], call)
    listed = "(" + "".join(f"{{{at}}}, " for at in range(1, len(call.arguments))) + ")"
    name = make.constant(lambda values, at: values[at - 1] if 0 < at <= len(values) else None)
    return make.apply_to(call.name, f"{name}({listed}, {{0}})", [number, *values], kind, (0,))


@special("FIELD", 1)
def _field(make: Binder, call: Call) -> Bound:
    values = [make.of(argument) for argument in call.arguments]
    name = make.constant(
        lambda sought, *values: 0 if sought is None or sought not in values else values.index(sought) + 1
    )
    return make.apply_to(call.name, template_of(name, values), values, INT)


@special("AS_VALUE", 1, 1)
def _as_value(make: Binder, call: Call) -> Bound:
    return make.of(call.arguments[0])
