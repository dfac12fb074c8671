"""The record classes of a view, created from its columns: the rows that are sent, and the stored rows with totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from forebay.operators.folds import Fold
from forebay.records import Record
from forebay.sql.computed import row_of
from forebay.sql.folding import fold_of, results_of
from forebay.sql.values import hint_of
from forebay.views.model import Source, View, camel_case, columns_of
from forebay.views.totals import storage_of, total_name


class RowRecords(NamedTuple):
    """The record classes of a view, and their update by a source record.

    Args:
        row: class of the rows in the view's topic.
        stored: class of the rows in the view's store, with the totals that its aggregates need.
        fold: returns the updated stored row after a source record.
        row_of: returns the row to send for a key and a stored row.
    """

    row: type[Any]
    stored: type[Any]
    fold: Fold[Any, Any]
    row_of: Callable[[str, Any], Any]


def row_records(view: View) -> RowRecords:
    """Create a view's record classes. Each call creates new classes."""
    fields = [(name, _hint(view, name)) for name in view.select]
    totals = [(total_name(name), total) for name, total in _totals(view)]
    row = _record(camel_case(view.name), fields)
    row.forebay_plan = view.plan
    stored_row = _record(f"{camel_case(view.name)}Totals", [*fields, *totals])
    columns = columns_of(view.select)
    return RowRecords(
        row, stored_row, Fold(lambda: None, _adding(view, stored_row)), lambda _, found: row(*columns(found))
    )


def crossing_record(source: Source, name: str, columns: Iterable[str]) -> type[Any]:
    """Create the record class of a repartition topic: the columns that later views need, and the event time."""
    needed = set(columns) - {"timestamp"}
    fields = [
        (column.name, column.type | None if column.nullable else column.type)
        for column in source.columns.values()
        if column.name in needed
    ]
    return _record(name, [*fields, ("timestamp", int)])


def _adding(view: View, row: type[Any]) -> Callable[[str, Any, Any], Any]:
    """Return a function that returns the next stored row for a key, a source record and the last row (or None)."""
    step, at = view.aggregate_step, view.aggregates
    initial = tuple(aggregate.initial for aggregate in step.aggregates)
    add, results = fold_of(step.aggregates, 0).add, results_of(step.aggregates)
    columns, groups = columns_of(view.columns), columns_of([column.name for column in view.groups.values()])
    arguments = row_of([code for codes in step.arguments for code in codes], windowed=False)
    names = list(view.groups)
    shown = itemgetter(*(names.index(name) if name in names else len(names) + at[name] for name in view.select))
    totals = [(at[name], total) for name, total in _totals(view)]
    first = {number: name for name, number in reversed([*at.items()])}
    kept_of = [storage_of(fold_input, first[number]).extract for number, fold_input in enumerate(step.aggregates)]

    def adding(key: str, record: Any, before: Any) -> Any:
        states = initial if before is None else tuple([of(before) for of in kept_of])
        states = add(key, arguments(None, columns(record)), states)
        values = shown(groups(record) + results(states))
        return row(*values, *[total(*states[number]) for number, total in totals])

    return adding


def _totals(view: View) -> list[tuple[str, type[Any]]]:
    """Return the columns with stored totals, and the classes of the totals."""
    step = view.aggregate_step
    totals = ((name, storage_of(step.aggregates[number], name).total) for name, number in view.aggregates.items())
    return [(name, total) for name, total in totals if total is not None]


def _hint(view: View, name: str) -> Any:
    if name in view.groups:
        return view.groups[name].type
    aggregate = view.aggregate_step.aggregates[view.aggregates[name]]
    return int if aggregate.result(aggregate.initial) is not None else hint_of(aggregate.type)


def _record(name: str, fields: Sequence[tuple[str, Any]]) -> type[Any]:
    return msgspec.defstruct(name, fields, bases=(Record,), module=__name__)
