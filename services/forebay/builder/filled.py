"""Edges from tables to nodes whose stores need all rows of the table (see processor/filling.py)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from forebay.builder.nodes import Bound, Flow, Node
from forebay.operators.table import change_of_row
from forebay.processor.api import Context
from forebay.processor.filling import Filling


class FilledStore(NamedTuple):
    """A store that must get all rows of a table.

    Args:
        tables: Names of the stores from which the table's rows are computed.
        can_be_added: Whether it can be added when the table already has rows.
    """

    tables: tuple[str, ...]
    can_be_added: bool


def filled_stores(nodes: Iterable[Node]) -> dict[str, FilledStore]:
    """Return the stores that must get all rows of a table, by name."""
    return {
        store: FilledStore(
            tuple(table.stores[0].name for table in tables), not node.asks_old or key_tables(parent) is not None
        )
        for node in nodes
        if not node.fills_topic
        for store in node.filled
        for parent in node.parents
        if (tables := stored_tables(parent))
    }


def stored_tables(table: Node) -> tuple[Node, ...]:
    """Return the nodes with stores from which a table's rows are computed. The first one has their keys.

    The result is empty if the rows are not stored.
    """
    # A suppressed table has a buffer, but does not store the rows that it has emitted.
    if table.view is None:
        return ()
    if table.stores:
        return (table,)
    of_parents = [stored_tables(parent) for parent in table.parents]
    return tuple(dict.fromkeys(node for nodes in of_parents for node in nodes)) if all(of_parents) else ()


def filling_of(bound: Bound, table: Node, node: Node, flow: Flow) -> Filling | None:
    """Return the filling from a table to a node's stores, or None if no rows of the table are stored.

    Args:
        flow: Flow that receives the table's changes.
    """
    tables = stored_tables(table)
    keyed = None if node.looks_up_rows else key_tables(table)
    if not tables:
        return None

    def send(key: str, ctx: Context[Any]) -> None:
        row = bound.view(table).get(key)
        if row is not None:
            flow(key, change_of_row(key, row.value, None, row.timestamp), row.timestamp, ctx)

    return Filling(
        tuple(node.filled),
        tuple(bound.store(node.stores[0]).name for node in tables),
        None if keyed is None else _in_order([bound.store(node.stores[0]) for node in keyed]),
        send,
        node.asks_old,
        node.fills_topic,
    )


def passing(filling: Filling, flow: Flow) -> Flow:
    """Return the flow that passes on the changes of the rows that were sent."""

    def pass_on(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if filling.is_complete or filling.has_sent(key):
            flow(key, value, timestamp, ctx)

    return pass_on


def key_tables(table: Node) -> tuple[Node, ...] | None:
    """Return the nodes whose stores together have the keys of a table's rows, or None if one has no order of keys."""
    if table.view is None:
        return None
    if table.stores:
        return (table,) if hasattr(table.stores[0], "keys_after") else None
    result: list[Node] = []
    for parent in table.key_parents or table.parents[:1]:
        tables = key_tables(parent)
        if tables is None:
            return None
        result += tables
    return tuple(dict.fromkeys(result))


def _in_order(stores: list[Any]) -> Callable[[str | None], Iterator[str]]:
    if len(stores) == 1:
        in_order: Callable[[str | None], Iterator[str]] = stores[0].keys_after
        return in_order

    def keys_after(key: str | None) -> Iterator[str]:
        last = key
        for next_key in heapq.merge(*(store.keys_after(key) for store in stores)):
            if next_key != last:
                yield next_key
            last = next_key

    return keys_after
