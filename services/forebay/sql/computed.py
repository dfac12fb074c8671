"""Compilation of a plan's expressions to functions of keys and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.generate import function_of
from forebay.sql.plan import TypedExpression


def row_of(
    columns: Sequence[TypedExpression], *, windowed: bool, catches: bool = True
) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return a function that computes columns from key and row.

    Args:
        catches: Whether a part that fails can be null while the column is not.
    """
    function = function_of("k, r, w", (column.bound for column in columns), catches=catches)
    if windowed:
        return lambda key, row: function(None, row, None) if key is None else function(key.key, row, key.window)
    return lambda key, row: function(key, row, None)


def condition_of(condition: TypedExpression, *, windowed: bool) -> Callable[[Any, Any], bool]:
    """Return a function that returns whether a condition is true. Unknown counts as false."""
    # If any part fails, the condition is not true. ksqlDB, too, catches failures of parts in columns only.
    evaluate = row_of([condition], windowed=windowed, catches=False)
    return lambda key, row: evaluate(key, row)[0] is True
