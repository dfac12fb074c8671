"""The check for expressions that only read their parameters: they change and keep nothing, and end at once."""

from __future__ import annotations

import ast
from collections.abc import Collection

_ALLOWED = (ast.Compare, ast.BoolOp, ast.Constant, ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop)


def only_looks(expression: ast.expr, parameters: Collection[str]) -> bool:
    """Return whether an expression only compares its parameters and reads their fields.

    Such an expression needs no copies of them and no time limit. Any other expression is assumed to need both.
    """
    if isinstance(expression, ast.Name):
        return expression.id in parameters
    if isinstance(expression, ast.Call):
        return _is_get(expression) and all(only_looks(part, parameters) for part in _parts(expression))
    if isinstance(expression, ast.Subscript):
        return isinstance(expression.slice, ast.Constant) and only_looks(expression.value, parameters)
    if isinstance(expression, ast.UnaryOp):
        return isinstance(expression.op, ast.Not | ast.USub) and only_looks(expression.operand, parameters)
    if not isinstance(expression, _ALLOWED):
        return False
    return all(only_looks(part, parameters) for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr))


def _is_get(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
    return named and not call.keywords and all(isinstance(argument, ast.Constant) for argument in call.args)


def _parts(call: ast.Call) -> list[ast.expr]:
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []
