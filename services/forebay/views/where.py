"""WHERE as a function of a record, with SQL's three values: a comparison with null is unknown, and unknown is no."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlglot import exp

from forebay.views.model import Predicate
from forebay.views.names import Names

_COMPARISONS: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = MappingProxyType(
    {
        exp.EQ: operator.eq,
        exp.NEQ: operator.ne,
        exp.LT: operator.lt,
        exp.LTE: operator.le,
        exp.GT: operator.gt,
        exp.GTE: operator.ge,
    }
)
_KINDS = MappingProxyType({str: "a text", int: "a number", float: "a number", bool: "a boolean"})


class _Operand(NamedTuple):
    kind: str
    of: Callable[[Any], Any]


def predicate(node: exp.Expr, names: Names) -> Predicate:
    """Return the condition that a WHERE states. Raises ViewError, naming what it can't be."""
    match node:
        case exp.Paren():
            return predicate(node.this, names)
        case exp.And():
            return _and([predicate(part, names) for part in node.flatten()])
        case exp.Or():
            return _or([predicate(part, names) for part in node.flatten()])
        case exp.Not():
            return _not(predicate(node.this, names))
        case exp.Is():
            return _is(node, names)
        case exp.Between():
            low = _compare(operator.ge, node.this, node.args["low"], names)
            return _and([low, _compare(operator.le, node.this, node.args["high"], names)])
        case exp.In() if node.expressions:
            return _or([_compare(operator.eq, node.this, other, names) for other in node.expressions])
        case exp.Column() | exp.Boolean():
            operand = _operand(node, names)
            if operand.kind == "a boolean":
                return operand.of
    comparison = _COMPARISONS.get(type(node))
    if comparison is None:
        names.fail(
            f"WHERE {node.sql()}: write comparisons (=, <>, <, <=, >, >=, BETWEEN, IN, IS NULL) of columns and values, "
            "joined by AND, OR, NOT"
        )
    return _compare(comparison, node.this, node.expression, names)


def _compare(compare: Callable[[Any, Any], bool], left: exp.Expr, right: exp.Expr, names: Names) -> Predicate:
    one, two = _operand(left, names), _operand(right, names)
    if one.kind != two.kind:
        names.fail(f"WHERE compares {left.sql()}, {one.kind}, with {right.sql()}, {two.kind}: compare two of one kind")
    first, second = one.of, two.of

    def compared(record: Any) -> bool | None:
        a, b = first(record), second(record)
        return None if a is None or b is None else compare(a, b)

    return compared


def _operand(node: exp.Expr, names: Names) -> _Operand:
    match node:
        case exp.Paren():
            return _operand(node.this, names)
        case exp.Column():
            column = names.column(node)
            return _Operand(_KINDS[column.type], operator.attrgetter(column.name))
        case exp.Literal() if node.is_string:
            return _constant("a text", str(node.this))
        case exp.Literal() | exp.Neg(this=exp.Literal()):
            return _constant("a number", _number(node.sql(), names))
        case exp.Boolean():
            return _constant("a boolean", bool(node.this))
    hint = ": write IS NULL" if isinstance(node, exp.Null) else ""
    return names.fail(f"WHERE: {node.sql()} is neither a column nor a text, a number, true or false{hint}")


def _constant(kind: str, value: Any) -> _Operand:
    return _Operand(kind, lambda _: value)


def _number(text: str, names: Names) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        names.fail(f"WHERE: {text} is no number")


def _is(node: exp.Is, names: Names) -> Predicate:
    (kind, of), wanted = _operand(node.this, names), node.expression
    if isinstance(wanted, exp.Null):
        value = None
    elif isinstance(wanted, exp.Boolean) and kind == "a boolean":
        value = bool(wanted.this)
    else:
        names.fail(f"WHERE {node.sql()}: write IS [NOT] NULL, or of a boolean IS [NOT] TRUE or FALSE")
    if node.args.get("negate"):
        return lambda record: of(record) is not value
    return lambda record: of(record) is value


def _and(parts: Sequence[Predicate]) -> Predicate:
    def all_of(record: Any) -> bool | None:
        result: bool | None = True
        for part in parts:
            found = part(record)
            if found is False:
                return False
            result = None if found is None else result
        return result

    return all_of


def _or(parts: Sequence[Predicate]) -> Predicate:
    def any_of(record: Any) -> bool | None:
        result: bool | None = False
        for part in parts:
            found = part(record)
            if found:
                return True
            result = None if found is None else result
        return result

    return any_of


def _not(inner: Predicate) -> Predicate:
    def negated(record: Any) -> bool | None:
        value = inner(record)
        return None if value is None else not value

    return negated
