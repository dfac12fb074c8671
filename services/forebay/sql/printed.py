"""Expressions as text, for plans and messages."""

from __future__ import annotations

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
    Literal,
    MapOf,
    Star,
    StructOf,
)

_SIGNS = frozenset(["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE"])


def printed(expression: Expression) -> str:
    """Return an expression in SQL."""
    match expression:
        case Literal(value):
            return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value).upper()
        case Column(name, source):
            return f"{source}.{name}" if source else name
        case Call(name, (one, other)) if name in _SIGNS:
            return f"({printed(one)} {name} {printed(other)})"
        case Call(name, arguments):
            return f"{name}({_list_of(arguments)})"
        case Cast(value, kind):
            return f"CAST({printed(value)} AS {kind})"
        case Case(whens, default):
            result = " ".join(f"WHEN {printed(when)} THEN {printed(then)}" for when, then in whens)
            return f"CASE {result}{'' if default is None else f' ELSE {printed(default)}'} END"
        case Field(struct, name):
            return f"{printed(struct)}->{name}"
        case Item(container, index):
            return f"{printed(container)}[{printed(index)}]"
        case StructOf(fields):
            return f"STRUCT({', '.join(f'{name} := {printed(value)}' for name, value in fields)})"
        case ArrayOf(items):
            return f"ARRAY[{_list_of(items)}]"
        case MapOf(entries):
            return f"MAP({', '.join(f'{printed(key)} := {printed(value)}' for key, value in entries)})"
        case Lambda(parameters, body):
            return f"({', '.join(parameters)}) => {printed(body)}"
    return f"{expression.source}.*" if isinstance(expression, Star) and expression.source else "*"


def _list_of(found: tuple[Expression, ...]) -> str:
    return ", ".join(map(printed, found))
