"""Nodes that group the rows of a table and aggregate each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.changes import Moved, change_format
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.formats import Format
from forebay.operators.aggregate import TableAggregate
from forebay.operators.folds import Fold
from forebay.operators.table import Change
from forebay.processor.api import Context
from forebay.stores.timestamped import TimestampedKeyValueStore


def regroup_node(
    parent: Node, name: str, group: Callable[[str, Any], tuple[str, Any] | None], key: Format[Any], value: Format[Any]
) -> Node:
    """Return the node that sends the effect of a row's change to each group that it affects.

    Args:
        group: Function of a row's key and value that returns the group's key (as row text) and the value, or None if
            the row is in no group.
    """

    def make(bound: Bound, out: Flow) -> Made:
        def flow(_key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            old = None if change.old is None else bound.former(group, change.key, change.old)
            new = None if change.new is None else group(change.key, change.new)
            # If the group stays the same, send both values in one record (KIP-904). With two records, an aggregate
            # without the row would be emitted in between.
            if old is not None and new is not None and old[0] == new[0]:
                out(old[0], Moved(new[1], old[1]), timestamp, ctx)
                return
            if old is not None:
                out(old[0], Moved(None, old[1]), timestamp, ctx)
            if new is not None:
                out(new[0], Moved(new[1], None), timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"group {name}", key, change_format(value), (parent,), make=make)


def grouped_aggregate(parent: Node, fold: Fold[Any, Any], into: Format[Any], store: str) -> Node:
    """Return the node that maintains one aggregate per group of a table's rows."""
    declared: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(store, into)
    subtract = fold.subtract
    # Refuse this while the topology is built, because the first row that leaves its group would stop the job.
    if subtract is None:
        raise TopologyError(
            f"store {store}: rows can leave a group, but the fold has no subtract function: pass subtract= to the Fold"
        )

    def make(bound: Bound, out: Flow) -> Made:
        operator: TableAggregate[Any, Any, Any] = TableAggregate(
            bound.store(declared), lambda key, row: (key, row), fold.initial, fold.add, subtract
        )

        def flow(key: Any, value: Moved[Any], timestamp: int, ctx: Context[Any]) -> None:
            for change in operator.changes(Change(key, value.new, value.old, timestamp)):
                out(key, change, change.timestamp, ctx)

        return Made((flow,))

    return Node(
        Kind.STEP,
        f"aggregate to {into}",
        parent.key,
        into,
        (parent,),
        stores=(declared,),
        make=make,
        view=lambda bound: bound.store(declared),
        gives_rows=True,
        asks_old=False,
    )
