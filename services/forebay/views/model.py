"""The model of a view: a source, and a plan of forebay.sql over it."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from forebay.formats.identities import Identity, by_typed_name
from forebay.records import fields_of
from forebay.sql import catalog
from forebay.sql.computed import row_of
from forebay.sql.plan import Aggregated, Filtered, Projected, QueryPlan, Rekeyed, Scan, Step
from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, STRING, SqlType

Predicate = Callable[[Any], bool | None]
"""Returns whether a source record meets the condition. None (unknown) means that it does not."""

SQL_TYPES: Mapping[type, SqlType] = types.MappingProxyType({str: STRING, int: BIGINT, float: DOUBLE, bool: BOOLEAN})


class ViewError(ValueError):
    """A file is not a valid view. The message contains file, mistake and remedy."""

    names_its_place = True


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source. `type` is str, int, float or bool."""

    name: str
    type: type
    nullable: bool = False


@dataclass(frozen=True)
class Source:
    """The source of views.

    Args:
        topic: the topic, whose name is used in FROM.
        record: class of the topic's records, a frozen dataclass with the field `timestamp` (ms).
        key: the field that equals the record's key. Views that are grouped by it need no repartitioning.
        check: called with each record before the views. Raises RejectedRecord for a record that no view may count.

    Raises:
        ViewError: the key is not a text, or there is no event time.
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
        """The record's fields of simple types by name. Views can't use other fields."""
        hints = typing.get_type_hints(self.record)
        columns = (_column(name, hints[name]) for name in fields_of(self.record))
        return types.MappingProxyType({column.name: column for column in columns if column is not None})

    @property
    def declared(self) -> catalog.Source:
        """The stream that the SQL of its views reads."""
        named = {name: catalog.Named(name, SQL_TYPES[column.type]) for name, column in self.columns.items()}
        key = named.pop(self.key)
        return catalog.Source(self.topic, False, (key,), tuple(named.values()), self.topic, catalog.Encoding())


@dataclass(frozen=True)
class View:
    """A materialized view.

    Args:
        file: name of its file.
        plan: its plan, which writes the view's rows to the topic with the view's name.
        select: names of its columns, in order.
        groups: names of its grouping columns.
        group_by: names of the source's columns that form the key, in order.
    """

    file: str
    source: Source
    plan: QueryPlan
    select: tuple[str, ...]
    groups: Mapping[str, Column]
    group_by: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the view and of its topic."""
        return self.plan.target.name

    @property
    def store(self) -> str:
        """The name of the store of its rows and totals."""
        return store_of(self.name)

    @property
    def aggregate_step(self) -> Aggregated:
        """The aggregation step of the plan."""
        aggregate = self._projection.parent
        assert isinstance(aggregate, Aggregated)
        return aggregate

    @property
    def aggregates(self) -> Mapping[str, int]:
        """The index of the plan's aggregate of each column that is not a grouping column, by name."""
        step, names = self._projection, self.aggregate_step.names
        shown = zip(step.into, step.columns, strict=True)
        return {into.name: names.index(code.text) for into, code in shown if into.name not in self.groups}

    @property
    def identity(self) -> Identity:
        """The identity that its store records: the expressions of a row's columns, and the columns of the key."""
        names = self.aggregate_step.names
        groups = [(f"group {place}", name) for place, name in enumerate(self.group_by, 1)]
        return by_typed_name("AVRO", [*groups, *((name, names[number]) for name, number in self.aggregates.items())])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the source's columns that it uses, in the order of the plan's rows."""
        step = self._counted_step.parent if isinstance(self._counted_step, Filtered) else self._counted_step
        assert isinstance(step, Scan)
        return tuple(slot.name for slot in step.slots)

    @cached_property
    def where(self) -> Predicate | None:
        """The condition of the records to aggregate; None: all records."""
        if not isinstance(self._counted_step, Filtered):
            return None
        condition = row_of([self._counted_step.condition], windowed=False, catches=False)
        columns = columns_of(self.columns)
        return lambda record: condition(None, columns(record))[0]

    @property
    def by_key(self) -> bool:
        """Whether its groups are the source's keys."""
        return self.group_by == (self.source.key,)

    @property
    def _counted_step(self) -> Step:
        """The step with the rows to aggregate."""
        grouped = self.aggregate_step.parent
        assert isinstance(grouped, Rekeyed)
        return grouped.parent

    @property
    def _projection(self) -> Projected:
        projection = self.plan.step
        assert isinstance(projection, Projected)
        return projection


def columns_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns one or more fields of a record as a tuple."""
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda record: (get(record),)


def store_of(view: str) -> str:
    """Return the name of a view's store."""
    return view.replace("_", "-")


def camel_case(*names: str) -> str:
    """Return the CamelCase class name of snake_case names."""
    return "".join(part.capitalize() for name in names for part in name.split("_"))


def _column(name: str, hint: Any) -> Column | None:
    members = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    kinds = [member for member in members if member is not type(None)]
    if len(kinds) != 1 or kinds[0] not in SQL_TYPES:
        return None
    return Column(name, kinds[0], len(kinds) < len(members))
