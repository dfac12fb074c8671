"""The records of a view, made from its columns: the rows that leave, the rows with totals that are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from forebay.operators.folds import Fold
from forebay.records import Record
from forebay.views.model import Aggregate, Group, Source, View, camel_case
from forebay.views.totals import Accumulator, accumulator


class RowRecords(NamedTuple):
    """What a view's records are, and how one more source record changes them.

    Args:
        row: class of the rows: on the view's topic.
        stored: the same with the totals that its aggregates need: in the view's store.
        fold: makes a stored row of source records.
        row_of: gives a stored row as it leaves; called with key and stored row.
    """

    row: type[Any]
    stored: type[Any]
    fold: Fold[Any, Any]
    row_of: Callable[[str, Any], Any]


def row_records(view: View) -> RowRecords:
    """Make a view's records. The classes are new ones at each call."""
    fields = [(each.name, _hint(each)) for each in view.select]
    kept = {each: accumulator(each) for each in view.aggregates}
    totals = [(each.total_name, how.total) for each, how in kept.items() if how.total is not None]
    row = _record(camel_case(view.name), fields)
    stored = _record(f"{camel_case(view.name)}Totals", [*fields, *totals])
    columns_of = attrgetter(*[name for name, _ in fields])
    return RowRecords(
        row, stored, Fold(lambda: None, _adding(view, stored, kept)), lambda _, stored_row: row(*columns_of(stored_row))
    )


def is_of_views(record: type[Any]) -> bool:
    """Say whether a record's class was made here."""
    return record.__module__ == __name__


def crossing_record(source: Source, name: str, columns: Iterable[str]) -> type[Any]:
    """Make the record in which the columns that later views need cross a repartition, with the event time."""
    needed = set(columns) - {"timestamp"}
    fields = [
        (column.name, column.type | None if column.nullable else column.type)
        for column in source.columns.values()
        if column.name in needed
    ]
    return _record(name, [*fields, ("timestamp", int)])


def _adding(view: View, stored: type[Any], kept: Mapping[Aggregate, Accumulator]) -> Callable[[str, Any, Any], Any]:
    """Return what makes the next stored row of a source record and the last one (None: there is none)."""
    groups, steps = [], []
    for position, each in enumerate(view.select):
        if isinstance(each, Group):
            groups.append((position, each.column.name))
        else:
            how = kept[each]
            field = each.name if how.total is None else each.total_name
            steps.append((position, attrgetter(field), how, _value_of(each)))
    width = len(view.select)

    def add(_key: str, record: Any, before: Any) -> Any:
        row: list[Any] = [None] * width
        for position, name in groups:
            row[position] = getattr(record, name)
        totals = []
        for position, kept_in, how, value_of in steps:
            total = how.empty if before is None else kept_in(before)
            value = value_of(record)
            if value is not None:
                total = how.add(total, value)
            row[position] = how.value(total)
            if how.total is not None:
                totals.append(total)
        return stored(*row, *totals)

    return add


def _value_of(aggregate: Aggregate) -> Callable[[Any], Any]:
    return (lambda _: True) if aggregate.column is None else attrgetter(aggregate.column.name)


def _hint(each: Group | Aggregate) -> Any:
    if isinstance(each, Group):
        return each.column.type
    return each.type | None if each.nullable else each.type


def _record(name: str, fields: Sequence[tuple[str, Any]]) -> type[Any]:
    return msgspec.defstruct(name, fields, bases=(Record,), module=__name__)
