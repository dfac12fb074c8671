"""Traversal and transformation of expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from forebay.sql.syntax import (
    ArrayOf,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Field,
    Item,
    Lambda,
    MapOf,
    Star,
    StructOf,
)


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with a function applied to each direct part."""
    match expression:
        case Call(_, arguments):
            return replace(expression, arguments=tuple(map(change, arguments)))
        case Cast(value, _):
            return replace(expression, value=change(value))
        case Case(whens, default):
            changed = tuple((change(when), change(then)) for when, then in whens)
            return replace(expression, whens=changed, default=None if default is None else change(default))
        case Field(struct, _):
            return replace(expression, struct=change(struct))
        case Item(container, index):
            return replace(expression, container=change(container), index=change(index))
        case StructOf(fields):
            return replace(expression, fields=tuple((name, change(value)) for name, value in fields))
        case ArrayOf(items):
            return replace(expression, items=tuple(map(change, items)))
        case MapOf(entries):
            return replace(expression, entries=tuple((change(key), change(value)) for key, value in entries))
        case Lambda(_, body):
            return replace(expression, body=change(body))
        case Star(_, struct) if struct is not None:
            return replace(expression, struct=change(struct))
    return expression


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all of its parts at any depth, outermost first."""
    yield expression
    for part in _inner(expression):
        yield from parts(part)


def columns(expression: Expression, bound: frozenset[str] = frozenset()) -> Iterator[Column]:
    """Yield the columns in an expression. Parameters of lambdas are not columns."""
    if isinstance(expression, Column):
        if expression.source or expression.name not in bound:
            yield expression
        return
    if isinstance(expression, Lambda):
        yield from columns(expression.body, bound | set(expression.parameters))
        return
    for part in _inner(expression):
        yield from columns(part, bound)


def with_columns(
    expression: Expression, change: Callable[[Column], Expression], bound: frozenset[str] = frozenset()
) -> Expression:
    """Return the expression with a function applied to its columns."""
    if isinstance(expression, Column):
        return expression if not expression.source and expression.name in bound else change(expression)
    inner = bound | set(expression.parameters) if isinstance(expression, Lambda) else bound
    return rebuilt(expression, lambda part: with_columns(part, change, inner))


def _inner(expression: Expression) -> list[Expression]:
    """Return the direct parts of an expression."""
    expressions: list[Expression] = []

    def note(part: Expression) -> Expression:
        expressions.append(part)
        return part

    rebuilt(expression, note)
    return expressions
