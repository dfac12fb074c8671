"""The topology of views: groupings by the topic's key come first, all others after a repartition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from forebay.builder import Stream, Topology, job
from forebay.formats import avro
from forebay.job import Job
from forebay.processor.api import RejectedRecord
from forebay.records import fields_of
from forebay.stores.keys import join_key
from forebay.views.model import Source, View, ViewError, camel_case
from forebay.views.records import RowRecords, crossing_record, row_records

S = TypeVar("S")


class _Grouping(NamedTuple):
    """Views after the same repartition.

    Args:
        name: name of the repartition.
        crossing: columns of its records, which these views and those of later groupings use.
    """

    name: str
    columns: tuple[str, ...]
    crossing: type[Any]
    views: tuple[View, ...]


def views_job(settings: type[S], source: Source, views: Sequence[View]) -> Job:
    """Return the job that maintains views, and sends the rows of each to the topic of its name, keyed by group."""
    plan = _Plan(source, views)
    return job(settings, lambda _: plan.topology())


def views_topology(source: Source, views: Sequence[View]) -> Topology:
    """Return the topology that maintains views."""
    return _Plan(source, views).topology()


class _Plan:
    """The record classes and groupings of views, created once, so that all topologies share the classes."""

    def __init__(self, source: Source, views: Sequence[View]) -> None:
        self._source = source
        self._records: dict[str, RowRecords] = {view.name: row_records(view) for view in views}
        self._by_key = [view for view in views if view.by_key]
        self._usable = _usable(source, views)
        self._groupings = _groupings(source, [view for view in views if not view.by_key])
        self._check_names(views)

    def topology(self) -> Topology:
        """Return the topology."""
        topology = Topology()
        stream: Stream[str, Any] = topology.stream(
            self._source.topic,
            self._source.record,
            timestamp="timestamp",
            event_id=lambda record: getattr(record, "event_id", None),
            nulls=False,
        ).filter(self._usable)
        for view in self._by_key:
            self._keep(view, stream)
        for grouping in self._groupings:
            crossing = stream.map_values(_projection(grouping.crossing), grouping.crossing)
            stream = crossing.select_key(_key_of(grouping.columns), str).repartition(grouping.name)
            for view in grouping.views:
                self._keep(view, stream)
        return topology

    def _check_names(self, views: Iterable[View]) -> None:
        """Refuse records with the same name, because they would have the same contract."""
        known = {self._source.record.__name__: f"the topic {self._source.topic}"}
        known |= {grouping.crossing.__name__: f"the repartition {grouping.name}" for grouping in self._groupings}
        for view in views:
            for record in (self._records[view.name].row, self._records[view.name].stored):
                if record.__name__ in known:
                    raise ViewError(
                        f"{view.file}: the view {view.name} needs the record {record.__name__}, which is that of "
                        f"{known[record.__name__]}: give the view another name"
                    )
                known[record.__name__] = f"the view {view.name}"

    def _keep(self, view: View, stream: Stream[str, Any]) -> None:
        records, where = self._records[view.name], view.where
        nullable = [column.name for column in view.groups.values() if column.nullable]
        if nullable:
            stream = stream.filter(lambda _, record: all(getattr(record, name) is not None for name in nullable))
        if where is not None:
            stream = stream.filter(lambda _, record: bool(where(record)))
        stored = replace(avro(records.stored), identify=lambda: view.identity)
        rows = stream.group_by_key().aggregate(records.fold, stored, store=view.store)
        rows.map_values(records.row_of, records.row).to_stream().to(view.name)


def _groupings(source: Source, views: Iterable[View]) -> list[_Grouping]:
    of_columns: dict[tuple[str, ...], list[View]] = {}
    for view in views:
        of_columns.setdefault(view.group_by, []).append(view)
    groupings: list[_Grouping] = []
    needed: set[str] = set()
    for columns, grouped in reversed(of_columns.items()):
        needed |= set(columns).union(*(view.columns for view in grouped))
        crossing = crossing_record(source, f"{source.record.__name__}By{camel_case(*columns)}", needed)
        name = "-".join(["by", *columns]).replace("_", "-")
        groupings.insert(0, _Grouping(name, columns, crossing, tuple(grouped)))
    return groupings


def _usable(source: Source, views: Iterable[View]) -> Callable[[str, Any], bool]:
    """Return a filter that rejects records that no view may count, before any view has counted them."""
    used = sorted({name for view in views for name in view.columns})
    doubles = [name for name in used if source.columns[name].type is float]

    def check(key: str, record: Any) -> bool:
        source.check(record)
        if getattr(record, source.key) != key:
            raise RejectedRecord(
                f"{source.key} is {getattr(record, source.key)!r} but the record's key is {key!r}: "
                f"the producer must key {source.topic} by {source.key}, so that its records meet in one task"
            )
        for name in doubles:
            value = getattr(record, name)
            if value is not None and not math.isfinite(value):
                raise RejectedRecord(f"{name} is {value}: the producer must send a finite number")
        return True

    return check


def _projection(crossing: type[Any]) -> Callable[[str, Any], Any]:
    getters = [attrgetter(name) for name in fields_of(crossing)]
    return lambda _, record: crossing(*[get(record) for get in getters])


def _key_of(columns: tuple[str, ...]) -> Callable[[str, Any], str]:
    """Return a function that returns a record's group as a key, or its present key if it belongs to no group."""
    if len(columns) == 1:
        get = attrgetter(columns[0])

        def single(key: str, record: Any) -> str:
            value = get(record)
            return key if value is None else str(value)

        return single

    def key_of(key: str, record: Any) -> str:
        values = [getattr(record, name) for name in columns]
        return key if None in values else join_key(*values)

    return key_of
