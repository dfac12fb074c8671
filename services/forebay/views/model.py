"""What a view is: a source, the columns it selects, the columns it groups by."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from forebay.records import fields_of

Predicate = Callable[[Any], bool | None]
"""Says of a source record whether it counts; None (unknown) is no."""


class ViewError(ValueError):
    """A file that is no view; the message names the file, what is wrong, and what to write instead."""

    names_its_place = True


class Function(StrEnum):
    """The aggregates a view can keep up to date from one new record alone."""

    AVG = "AVG"
    SUM = "SUM"
    COUNT = "COUNT"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source: `type` is str, int, float or bool."""

    name: str
    type: type
    nullable: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it can be summed."""
        return self.type in (int, float)


@dataclass(frozen=True)
class Source:
    """What views select from.

    Args:
        topic: its name is the one in FROM.
        record: the topic's records: a frozen dataclass with the field `timestamp` (ms).
        key: the field that every record's key repeats; views grouped by it need no repartition.
        check: called with each record before any view sees it; raises RejectedRecord for one no view may count.

    Raises:
        ViewError: the key is no text, or there is no event time.
    """

    topic: str
    record: type[Any]
    key: str
    check: Callable[[Any], None] = lambda _: None

    def __post_init__(self) -> None:
        if self.key not in self.columns or self.columns[self.key].type is not str:
            raise ViewError(
                f"topic {self.topic}: {self.record.__name__} has no text {self.key!r}: name a field of text"
            )
        if "timestamp" not in self.columns:
            raise ViewError(f"topic {self.topic}: {self.record.__name__} must have a field timestamp (ms)")

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The record's fields of simple types, by name; views can't use the others."""
        hints = typing.get_type_hints(self.record)
        found = (_column(name, hints[name]) for name in fields_of(self.record))
        return types.MappingProxyType({column.name: column for column in found if column is not None})


@dataclass(frozen=True, slots=True)
class Group:
    """A selected column that the view groups by."""

    name: str
    column: Column


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A selected aggregate; without a column it counts records."""

    name: str
    function: Function
    column: Column | None

    @property
    def total_name(self) -> str:
        """Name of the total in a stored row, where it has one."""
        return f"{self.name}_total"

    @property
    def text(self) -> str:
        """Return it as it is written in SQL."""
        return f"{self.function}({'*' if self.column is None else self.column.name})"

    @property
    def type(self) -> type:
        """Type of its values."""
        if self.column is None or self.function is Function.COUNT:
            return int
        return float if self.function is Function.AVG else self.column.type

    @property
    def nullable(self) -> bool:
        """Whether it is null where there was no value to aggregate."""
        return self.function is not Function.COUNT


@dataclass(frozen=True, slots=True)
class View:
    """A materialized view.

    Args:
        name: also the topic of its rows.
        file: where it was read from.
        select: its columns, in order.
        group_by: names of the source's columns whose values make the key, in order.
        where: which records count; None: all.
        uses: names of all the source's columns it looks at.
    """

    name: str
    file: str
    source: Source
    select: tuple[Group | Aggregate, ...]
    group_by: tuple[str, ...]
    where: Predicate | None
    uses: frozenset[str]

    @property
    def store(self) -> str:
        """Name of the store that holds its rows and totals."""
        return self.name.replace("_", "-")

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Its aggregates, in order."""
        return tuple(each for each in self.select if isinstance(each, Aggregate))

    @property
    def by_key(self) -> bool:
        """Whether its groups are the source's keys."""
        return self.group_by == (self.source.key,)


def camel_case(*names: str) -> str:
    """Return snake_case names as the name of a class."""
    return "".join(part.capitalize() for name in names for part in name.split("_"))


def _column(name: str, hint: Any) -> Column | None:
    members = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    kinds = [member for member in members if member is not type(None)]
    if len(kinds) != 1 or kinds[0] not in (str, int, float, bool):
        return None
    return Column(name, kinds[0], len(kinds) < len(members))
