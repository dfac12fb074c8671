"""Names of columns that a SELECT list gives no name, by ksqlDB's rules (ColumnNames.columnAliasGenerator)."""

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
    """One column of a result.

    Args:
        name: "" where it is not given one; `->name` for a field of a struct.
        of_star: whether it comes of a star.
    """

    name: str
    expression: Expression
    of_star: bool = False


class Aliases:
    """Names columns: expressions KSQL_COL_0, KSQL_COL_1 and so on, a field of a struct as the field is called.

    Args:
        columns: names of the sources' columns, which are not given to others.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._used: dict[str, set[int]] = {}
        for column in columns:
            name, number = _split(column)
            self._used.setdefault(name, set()).add(number)
        self._numbers: dict[str, Iterator[int]] = {}

    def name_column(self, item: Item) -> Item:
        """Return the column under its name."""
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
    """Return a name without the number at its end, and that number; 0: the name has no number."""
    match = _NUMBERED.fullmatch(name)
    return (name, 0) if match is None else (match["name"], int(match["number"] or 0))
