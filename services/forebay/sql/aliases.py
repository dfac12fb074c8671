"""Generated names of unnamed columns of a SELECT list, by ksqlDB's rules (ColumnNames.columnAliasGenerator)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from forebay.sql.syntax import Expression

_NUMBERED = re.compile(r"(?P<name>.*?)(?:_(?P<number>\d+))?")
_EXPRESSION = "KSQL_COL"


@dataclass(frozen=True, slots=True)
class Item:
    """A column of a result.

    Args:
        name: Name of the column. "" if it has no name, `->name` for a field of a struct.
        of_star: Whether the column is part of the expansion of a star.
    """

    name: str
    expression: Expression
    of_star: bool = False


class Aliases:
    """Generator of column names. An expression is named KSQL_COL_0 and so on, and a field of a struct like the field.

    Args:
        columns: Names of the sources' columns, which are not used for other columns.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._used: dict[str, set[int]] = {}
        for column in columns:
            name, number = _split(column)
            self._used.setdefault(name, set()).add(number)
        self._numbers: dict[str, Iterator[int]] = {}

    def name_column(self, item: Item) -> Item:
        """Return the column with its name, which is generated if it has none."""
        if not item.name:
            return replace(item, name=f"{_EXPRESSION}_{self._next(_EXPRESSION)}")
        if not item.name.startswith("->"):
            return item
        name, _ = _split(item.name[2:])
        number = self._next(name)
        return replace(item, name=f"{name}_{number}" if number else name)

    def _next(self, name: str) -> int:
        numbers = self._numbers.setdefault(name, count())
        return next(number for number in numbers if number not in self._used.get(name, ()))


def _split(name: str) -> tuple[str, int]:
    """Return a name without the number at its end, and the number, or 0 if the name does not end in a number."""
    match = _NUMBERED.fullmatch(name)
    return (name, 0) if match is None else (match["name"], int(match["number"] or 0))
