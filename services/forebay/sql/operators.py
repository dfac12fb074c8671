"""Binding of operators for arithmetic, comparison and three-valued logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forebay.sql import arithmetic
from forebay.sql.bound import Bound, BoundCall, BoundLiteral, BoundLogic, BoundMap, BoundRow, Callables
from forebay.sql.errors import SqlError
from forebay.sql.expressions import chain
from forebay.sql.like import like
from forebay.sql.limits import create_letters
from forebay.sql.order import rank_bytes
from forebay.sql.syntax import Call, Literal
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMES,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    as_decimal,
    common,
    is_number,
)

if TYPE_CHECKING:
    from forebay.sql.binding import Binder

_NONE: Callables = {}
_COMPARED = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_DECIMALS = {
    "+": arithmetic.decimal_sum,
    "-": arithmetic.decimal_difference,
    "*": arithmetic.decimal_product,
    "/": arithmetic.decimal_quotient,
    "%": arithmetic.decimal_remainder,
}


def apply(make: Binder, call: Call) -> Bound | None:
    """Return a bound operator, or None if the call is not an operator. Raises SqlError."""
    name, arguments = call.name, call.arguments
    if name in ("AND", "OR"):
        left, right = map(make.condition, arguments)
        return BoundLogic(name, left, right, not make.standard)
    if name == "NOT" and len(arguments) == 1:
        return make.apply("NOT", "(not {0})", [make.condition(arguments[0])], BOOLEAN)
    if name == "IS NULL":
        return _is_null(make, make.of(arguments[0]))
    if name == "IS DISTINCT":
        given = [make.of(argument) for argument in arguments]
        _refuse_null(make, call, given)
        values, _ = make.alike(given, call)
        return make.apply_to(name, "({0} != {1})", values, BOOLEAN)
    if name == "IN":
        return _in(make, call)
    if name == "BETWEEN":
        return _between(make, call)
    if name == "LIKE":
        texts = [make.of(argument) for argument in arguments]
        if any(text.type not in (STRING, NULL) for text in texts):
            raise SqlError(call.place, "LIKE compares texts: CAST the value to STRING")
        escape = arguments[2] if len(arguments) > 2 else None
        if isinstance(escape, Literal) and (not isinstance(escape.value, str) or len(escape.value) != 1):
            raise SqlError(escape.place, "write one letter behind ESCAPE")
        places = ", ".join(f"{{{at}}}" for at in range(len(texts)))
        return _java_call(make, name, f"{{like}}({places})", texts, BOOLEAN, {"like": like})
    if name in _COMPARED:
        return _compare(make, call)
    if name in _DECIMALS or name == "||":
        return _calculate(make, call)
    if name == "-x":
        return _negative(make, call)
    return None


def _is_null(make: Binder, value: Bound) -> Bound:
    # Evaluate literals here, because Python reports a SyntaxWarning if a literal is compared with None.
    if isinstance(value, BoundLiteral | BoundRow | BoundMap):
        return BoundLiteral(isinstance(value, BoundLiteral) and value.value is None, BOOLEAN)
    # IS NULL of a calculation that fails is true. There is no result of ksqlDB to match, because it refuses IS NULL of
    # calculations.
    if isinstance(value, BoundCall) and not value.is_function:
        value = replace(value, catches=True)
    return make.apply_to("IS NULL", "({0} is None)", [value], BOOLEAN)


def _unknown(make: Binder) -> bool | None:
    """Return the result of a comparison with null."""
    return None if make.standard else False


def _in(make: Binder, call: Call) -> Bound:
    values = [argument.value if isinstance(argument, Literal) else None for argument in call.arguments[1:]]
    if make.standard and None in values:
        # In standard SQL, the result is unknown if no value is equal and one of the values is null.
        subject, *others = call.arguments
        same = [Call("=", (subject, other), place=call.place) for other in others]
        return make.of(chain("OR", same, call.place))
    given, _ = make.all_alike(call.arguments, call)
    listed = ", ".join(f"{{{at}}}" for at in range(1, len(given)))
    return make.apply_to("IN", f"({{0}} in ({listed},))", given, BOOLEAN, (0,), _unknown(make))


def _between(make: Binder, call: Call) -> Bound:
    if make.standard:
        # In standard SQL, the result is false if one bound excludes the value, even if the other bound is null.
        value, low, high = call.arguments
        sides = (Call(">=", (value, low), place=call.place), Call("<=", (value, high), place=call.place))
        return make.of(Call("AND", sides, place=call.place))
    values = [make.of(argument) for argument in call.arguments]
    _refuse_null(make, call, values)
    for bound in values[1:]:
        if values[0].type == STRING and common(STRING, bound.type) is None:
            raise SqlError(call.place, f"STRING and {bound.type} can't be compared: write the bound as a text")
    values, kind = make.alike(values, call)
    ranks = _ranks(make, kind)
    template = "({rank}({1}) <= {rank}({0}) <= {rank}({2}))" if ranks else "({1} <= {0} <= {2})"
    return make.apply("BETWEEN", template, values, BOOLEAN, False, ranks)


def _compare(make: Binder, call: Call) -> Bound:
    left, right = (make.of(argument) for argument in call.arguments)
    kind = common(left.type, right.type)
    if kind is None:
        raise SqlError(
            call.place, f"{left.type} and {right.type} can't be compared: CAST one of them to the other's type"
        )
    _refuse_null(make, call, (left, right))
    has_order = not isinstance(kind, ArrayType | MapType | StructType) and (kind != BOOLEAN or make.standard)
    if call.name not in ("=", "!=") and not has_order:
        raise SqlError(call.place, f"{kind} has no order for {call.name}: write = or !=")
    if not is_number(kind) or (DOUBLE in (left.type, right.type) and left.type != right.type):
        left, right = make.cast(left, kind, call), make.cast(right, kind, call)
    sign = _COMPARED[call.name]
    ranks = {} if call.name in ("=", "!=") else _ranks(make, kind)
    template = f"({{rank}}({{0}}) {sign} {{rank}}({{1}}))" if ranks else f"({{0}} {sign} {{1}})"
    return make.apply(call.name, template, [left, right], BOOLEAN, _unknown(make), ranks)


def _refuse_null(make: Binder, call: Call, values: Sequence[Bound]) -> None:
    """Raise SqlError for a comparison with the literal NULL, as ksqlDB does. It has the same result for all rows."""
    if not make.standard and any(value.type == NULL for value in values):
        name = "IS DISTINCT FROM" if call.name == "IS DISTINCT" else call.name
        raise SqlError(
            call.place, f"{name} can't compare with NULL: write IS NULL or IS NOT NULL, or CAST NULL to a type"
        )


def _ranks(make: Binder, kind: SqlType) -> Callables:
    """Return the function by whose result values are ordered, or {} if they have Python's order."""
    return {"rank": rank_bytes} if kind == BYTES and not make.standard else {}


def _calculate(make: Binder, call: Call) -> Bound:
    left, right = (make.of(argument) for argument in call.arguments)
    sides = [item.type for item in (left, right)]
    if NULL in sides and not make.standard and call.name != "||":
        raise SqlError(call.place, f"{call.name} of a NULL has no meaning: CAST the NULL to a type, or leave it out")
    if call.name in ("+", "||") and STRING in sides:
        if not set(sides) <= {STRING, NULL}:
            raise SqlError(call.place, f"{left.type} and {right.type} can't be added: CAST both to STRING")
        return _texts(make, call, [left, right])
    if not all(is_number(side) or side == NULL for side in sides) or call.name == "||":
        raise SqlError(call.place, f"{left.type} {call.name} {right.type} can't be calculated: give numbers")
    if NULL in sides:
        return BoundLiteral(None, next((side for side in sides if side != NULL), INT))
    if DOUBLE in sides:
        return _doubles(make, call, [make.cast(item, DOUBLE, call) for item in (left, right)])
    if any(isinstance(side, DecimalType) for side in sides):
        one, other = as_decimal(left.type), as_decimal(right.type)
        kind = decimal_result(call.name, one, other)
        template = f"{{shape}}({{operate}}({{0}}, {{1}}), {kind.precision}, {kind.scale})"
        functions: Callables = {"shape": arithmetic.decimal_of, "operate": _DECIMALS[call.name]}
        return _java_call(make, call.name, template, [left, right], kind, functions)
    return _wholes(make, call, [left, right])


def _texts(make: Binder, call: Call, sides: Sequence[Bound]) -> Bound:
    is_strict = make.standard or call.name == "||"  # ksqlDB has no `||` that works
    if make.in_lambda:
        # Each call of a lambda can double the length of a text, so the length must be checked in each call.
        return make.call(call.name, added_texts, sides, STRING, (0, 1) if is_strict else ())
    if is_strict:
        return make.apply(call.name, "({0} + {1})", sides, STRING)
    return make.call(call.name, text_sum, sides, STRING)


def _doubles(make: Binder, call: Call, sides: Sequence[Bound]) -> Bound:
    if call.name in "+-*":
        return _java_call(make, call.name, f"({{0}} {call.name} {{1}})", sides, DOUBLE)
    function = arithmetic.quotient if call.name == "/" else arithmetic.remainder
    return _java_call(make, call.name, "{operate}({0}, {1})", sides, DOUBLE, {"operate": function})


def _wholes(make: Binder, call: Call, sides: Sequence[Bound]) -> Bound:
    kind = BIGINT if BIGINT in (sides[0].type, sides[1].type) else INT
    wrap = arithmetic.wrapped_int if kind == INT else arithmetic.wrapped_long
    if call.name in "+-*":
        return _java_call(make, call.name, f"{{wrap}}({{0}} {call.name} {{1}})", sides, kind, {"wrap": wrap})
    function = arithmetic.whole_quotient if call.name == "/" else arithmetic.whole_remainder
    return _java_call(make, call.name, "{wrap}({operate}({0}, {1}))", sides, kind, {"wrap": wrap, "operate": function})


def _negative(make: Binder, call: Call) -> Bound:
    value = make.of(call.arguments[0])
    if not is_number(value.type):
        raise SqlError(call.place, f"{value.type} can't be negative: use a number")
    if isinstance(value.type, DecimalType):
        negative = arithmetic.decimal_negative
        return _java_call(make, call.name, "{operate}({0})", [value], value.type, {"operate": negative})
    if value.type == DOUBLE:
        return _java_call(make, call.name, "(-{0})", [value], value.type)
    wrap = arithmetic.wrapped_int if value.type == INT else arithmetic.wrapped_long
    return _java_call(make, call.name, "{wrap}(-{0})", [value], value.type, {"wrap": wrap})


def _java_call(
    make: Binder, name: str, template: str, sides: Sequence[Bound], kind: SqlType, functions: Callables = _NONE
) -> Bound:
    """Return a calculation that fails if an operand is null. In standard SQL, its result is null instead."""
    if make.standard and not make.in_lambda:
        return make.apply(name, template, sides, kind, functions=functions)
    # ksqlDB compiles expressions to Java code, in which such a calculation throws an exception. If a is null,
    # `NOT (a + 1 > 2)` is therefore null and not true.
    return make.apply_to(name, template, sides, kind, functions=functions)


def decimal_result(sign: str, one: DecimalType, other: DecimalType) -> DecimalType:
    """Return the result type of a calculation with decimals by ksqlDB's rules."""
    # The precision of a sum is 1 larger, because it can have one more digit than its operands.
    whole = max(one.precision - one.scale, other.precision - other.scale)
    scale = max(one.scale, other.scale)
    match sign:
        case "+" | "-":
            return DecimalType(whole + scale + 1, scale)
        case "*":
            return DecimalType(one.precision + other.precision + 1, one.scale + other.scale)
        case "/":
            # In ksqlDB, as in SQL Server, a quotient has at least six digits after the decimal point.
            behind = max(6, one.scale + other.precision + 1)
            return DecimalType(one.precision - one.scale + other.scale + behind, behind)
    return DecimalType(min(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def text_sum(one: str | None, other: str | None) -> str:
    """Return the concatenation of two texts. A null is the word null, as in Java."""
    return f"{'null' if one is None else one}{'null' if other is None else other}"


def added_texts(one: str | None, other: str | None) -> str:
    """Return the concatenation of two texts, as `text_sum` does. Raises LimitReached if it is too long."""
    create_letters(sum(len("null" if text is None else text) for text in (one, other)), "+")
    return text_sum(one, other)


def item(values: Sequence[Any], index: int) -> Any:
    """Return the item of an array at an index, which starts at 1 or, from the end, at -1. None if it does not exist."""
    # In ksqlDB, index 0 and an index after the end return null and not an error.
    at = index - 1 if index > 0 else index + len(values)
    return values[at] if index and 0 <= at < len(values) else None


__all__ = ["TIMES", "apply", "decimal_result", "item"]
