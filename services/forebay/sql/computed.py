"""Expressions of a plan as functions of keys and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.generate import function_of
from forebay.sql.plan import TypedExpression


def row_of(columns: Sequence[TypedExpression], *, windowed: bool) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return what computes columns of key and row."""
    function = function_of("k, r, w", (column.bound for column in columns))
    if windowed:
        return lambda key, row: function(None, row, None) if key is None else function(key.key, row, key.window)
    return lambda key, row: function(key, row, None)


def condition_of(condition: TypedExpression, *, windowed: bool) -> Callable[[Any, Any], bool]:
    """Return the function that checks whether a condition is true; unknown is not."""
    evaluate = row_of([condition], windowed=windowed)
    return lambda key, row: evaluate(key, row)[0] is True
