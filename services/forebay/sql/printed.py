"""Text of expressions for plans and messages."""

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

SIGNS = frozenset(["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE"])
"""Operators that are written between their operands."""


def to_sql(expression: Expression) -> str:
    """Return an expression in SQL."""
    match expression:
        case Literal(value):
            return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value).upper()
        case Column(name, source):
            return f"{source}.{name}" if source else name
        case Call(name, (one, other)) if name in SIGNS:
            return f"({to_sql(one)} {name} {to_sql(other)})"
        case Call(name, arguments):
            return f"{name}({_list_of(arguments)})"
        case Cast(value, kind):
            return f"CAST({to_sql(value)} AS {kind})"
        case Case(whens, default):
            result = " ".join(f"WHEN {to_sql(when)} THEN {to_sql(then)}" for when, then in whens)
            return f"CASE {result}{'' if default is None else f' ELSE {to_sql(default)}'} END"
        case Field(struct, name):
            return f"{to_sql(struct)}->{name}"
        case Item(container, index):
            return f"{to_sql(container)}[{to_sql(index)}]"
        case StructOf(fields):
            return f"STRUCT({', '.join(f'{name} := {to_sql(value)}' for name, value in fields)})"
        case ArrayOf(items):
            return f"ARRAY[{_list_of(items)}]"
        case MapOf(entries):
            return f"MAP({', '.join(f'{to_sql(key)} := {to_sql(value)}' for key, value in entries)})"
        case Lambda(parameters, body):
            return f"({', '.join(parameters)}) => {to_sql(body)}"
    return f"{expression.source}.*" if isinstance(expression, Star) and expression.source else "*"


def _list_of(found: tuple[Expression, ...]) -> str:
    return ", ".join(map(to_sql, found))
