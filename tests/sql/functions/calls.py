"""Evaluation of single expressions as in a query. Invalid ones raise the error with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundColumn
from forebay.sql.errors import SqlError
from forebay.sql.expressions import expression
from forebay.sql.functions.loaded import REGISTRY
from forebay.sql.generate import function_of
from forebay.sql.reader import Reader
from forebay.sql.syntax import Column
from forebay.sql.tokens import tokens_of
from forebay.sql.types import SqlType


class Columns:
    """Columns by name, with their types and their positions in a row."""

    def __init__(self, types: dict[str, SqlType]) -> None:
        self._types = list(types.items())

    def resolve(self, column: Column) -> Bound:
        for at, (name, kind) in enumerate(self._types):
            if name == column.name:
                return BoundColumn(f"r[{at}]", kind, name)
        raise SqlError(column.place, f"there is no column {column.name}")


def bind(text: str, types: dict[str, SqlType] | None = None) -> Bound:
    """Return the bound expression of a text. Raises SqlError."""
    return Binder(Columns(types or {}), REGISTRY).of(expression(Reader(text, tokens_of(text))))


def type_of(text: str, types: dict[str, SqlType] | None = None) -> SqlType:
    """Return the type of an expression. Raises SqlError."""
    return bind(text, types).type


def value_of(text: str, columns: Mapping[str, tuple[SqlType, Any]] | None = None) -> Any:
    """Return the value of an expression. `columns` are types and values by name. Raises SqlError, LimitReached."""
    given = columns or {}
    result = bind(text, {name: kind for name, (kind, _) in given.items()})
    row = tuple(value for _, value in given.values())
    return function_of("k, r, w", [result])(None, row, None)[0]
