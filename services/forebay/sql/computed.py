"""Expressions of a plan as functions of keys and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.compiled import compile_tuple
from forebay.sql.plan import Code


def row_of(columns: Sequence[Code], *, windowed: bool) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return what computes columns of key and row."""
    namespace = {name: value for code in columns for name, value in code.namespace.items()}
    function = compile_tuple("k, r, w", [code.source for code in columns], namespace)
    if windowed:
        return lambda key, row: function(None, row, None) if key is None else function(key.key, row, key.window)
    return lambda key, row: function(key, row, None)


def condition_of(condition: Code, *, windowed: bool) -> Callable[[Any, Any], bool]:
    """Return the function that checks whether a condition is true; unknown is not."""
    evaluate = row_of([condition], windowed=windowed)
    return lambda key, row: evaluate(key, row)[0] is True
