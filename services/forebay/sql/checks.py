"""Checks of a query whose result is stored."""

from __future__ import annotations

from collections.abc import Iterable

from forebay.sql.casts import widens
from forebay.sql.catalog import Named
from forebay.sql.errors import SqlError
from forebay.sql.syntax import InsertInto, Query
from forebay.sql.types import is_untyped


def check_limit(query: Query) -> None:
    """Raise SqlError if a query whose result is stored has a LIMIT."""
    if query.limit is not None:
        raise SqlError(
            query.place,
            "LIMIT is for pull and push queries, not for CREATE ... AS SELECT: leave it out, or add a WHERE",
        )


def check_types(query: Query, columns: Iterable[Named]) -> None:
    """Raise SqlError for a column whose type is not known, such as that of NULL."""
    for column in columns:
        if is_untyped(column.type):
            place = next((item.expression.place for item in query.select if item.alias == column.name), query.place)
            raise SqlError(
                place,
                f"the type of {column.name} is unknown ({column.type}): write CAST(NULL AS STRING), or another",
            )


def check_columns(statement: InsertInto, ours: tuple[Named, ...], theirs: tuple[Named, ...], what: str) -> None:
    """Raise SqlError if the columns of an INSERT INTO differ from those of its target."""
    same = len(ours) == len(theirs) and all(
        one.name == other.name and (one.type == other.type or widens(one.type, other.type))
        for one, other in zip(ours, theirs, strict=False)
    )
    if not same:
        wanted = ", ".join(map(str, theirs)) or "none"
        raise SqlError(
            statement.place,
            f"the query's {what} columns are {', '.join(map(str, ours)) or 'none'}, those of {statement.name} "
            f"{wanted}: select the same ones in the same order, with AS and CAST",
        )
