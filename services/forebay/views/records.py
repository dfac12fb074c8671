"""The records of a view, made from its columns: the rows that leave, the rows with totals that are stored."""

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
    """Make the record in which the columns that later views need cross a repartition, with the event time."""
    needed = set(columns) - {"timestamp"}
    fields = [
        (column.name, column.type | None if column.nullable else column.type)
        for column in source.columns.values()
        if column.name in needed
    ]
    return _record(name, [*fields, ("timestamp", int)])


def _adding(view: View, row: type[Any]) -> Callable[[str, Any, Any], Any]:
    """Return what makes the next stored row of a source record and the last one (None: there is none)."""
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
    """Return the columns that a total is stored with, and the total's class."""
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
