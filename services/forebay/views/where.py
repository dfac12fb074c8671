"""Checks a view's WHERE, which may only compare columns and values of the same type. forebay.sql compiles it."""

from __future__ import annotations

from forebay.sql import syntax
from forebay.sql.syntax import Call, Expression, Literal
from forebay.views.form import Form, sql_text

_COMPARISONS = frozenset(["=", "!=", "<", "<=", ">", ">="])
_KINDS = {str: "a text", int: "a number", float: "a number", bool: "a boolean"}


def check(node: Expression, form: Form) -> None:
    """Check a condition. Raises ViewError."""
    match node:
        case Call("AND" | "OR" | "NOT", parts):
            for part in parts:
                check(part, form)
        case Call("IS NULL", (operand,)):
            _kind(operand, form)
        case Call("IS DISTINCT", (operand, Literal(bool() as wanted))):
            if _kind(operand, form) != "a boolean":
                form.fail(
                    f"WHERE {sql_text(operand)} IS {str(wanted).upper()}: write IS [NOT] NULL, or of a boolean "
                    "IS [NOT] TRUE or FALSE"
                )
        case Call("BETWEEN" | "IN", (operand, *others)) if others:
            for other in others:
                _compare(operand, other, form)
        case Call(name, (left, right)) if name in _COMPARISONS:
            _compare(left, right, form)
        case syntax.Column() | Literal(bool()) if _kind(node, form) == "a boolean":
            pass
        case _:
            form.fail(
                f"WHERE {sql_text(node)}: write comparisons (=, <>, <, <=, >, >=, BETWEEN, IN, IS NULL) of columns and "
                "values, joined by AND, OR, NOT"
            )


def _compare(left: Expression, right: Expression, form: Form) -> None:
    one, other = _kind(left, form), _kind(right, form)
    if one != other:
        form.fail(f"WHERE compares {sql_text(left)}, {one}, with {sql_text(right)}, {other}: compare two of one kind")


def _kind(node: Expression, form: Form) -> str:
    """Return the type of a column or value. Raises ViewError for anything else."""
    if isinstance(node, syntax.Column):
        return _KINDS[form.column(node).type]
    if isinstance(node, Literal) and node.value is not None:
        return _KINDS.get(type(node.value), "a number")
    hint = ": write IS NULL" if isinstance(node, Literal) else ""
    return form.fail(f"WHERE: {sql_text(node)} is neither a column nor a text, a number, true or false{hint}")
