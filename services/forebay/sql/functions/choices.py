"""Functions that choose one of their arguments."""

from __future__ import annotations

from forebay.sql.functions.registry import special
from forebay.sql.generate import Generator, Typed
from forebay.sql.syntax import Call
from forebay.sql.types import INT


@special("COALESCE IFNULL", 1)
def _coalesce(make: Generator, call: Call) -> Typed:
    sources, kind = make.alike([make.of(argument) for argument in call.arguments], call)
    sources = [make.attempt(source) for source in sources]
    result = sources[-1]
    for source in reversed(sources[:-1]):
        name, test = make.once(source)
        result = f"({name} if {test} is not None else {result})" if test else name
    return Typed(result, kind)


@special("NULLIF", 2, 2)
def _nullif(make: Generator, call: Call) -> Typed:
    (one, other), kind = make.alike([make.of(argument) for argument in call.arguments], call)
    name, test = make.once(one)
    return Typed(f"(None if {test or name} == {other} else {name})", kind)


@special("ELT", 2)
def _elt(make: Generator, call: Call) -> Typed:
    number = make.of(call.arguments[0])
    sources, kind = make.alike([make.of(argument) for argument in call.arguments[1:]], call)
    listed = "(" + "".join(f"{source}, " for source in sources).replace("{", "{{").replace("}", "}}") + ")"
    name = make.constant(lambda values, at: values[at - 1] if 0 < at <= len(values) else None)
    return make.apply(f"{name}({listed}, {{0}})", [number], kind)


@special("FIELD", 1)
def _field(make: Generator, call: Call) -> Typed:
    sources = [make.of(argument).source for argument in call.arguments]
    name = make.constant(
        lambda sought, *values: 0 if sought is None or sought not in values else values.index(sought) + 1
    )
    return Typed(f"{name}({', '.join(sources)})", INT)


@special("AS_VALUE", 1, 1)
def _as_value(make: Generator, call: Call) -> Typed:
    return make.of(call.arguments[0])
