"""Edges from tables to nodes whose stores need all rows of the table (see processor/filling.py)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from forebay.builder.nodes import Bound, Flow, Node
from forebay.operators.table import change_of_row
from forebay.processor.api import Context, Timer
from forebay.processor.filling import Filling
from forebay.processor.reports import FAILURES
from forebay.stores.values import Stamped


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
    stored: dict[Node, None] = {}
    for node in _before(table, lambda joined: joined.parents):
        # A suppressed table has a buffer, but does not store the rows that it has emitted.
        if node.view is None or not (node.stores or node.parents):
            return ()
        if node.stores:
            stored[node] = None
    return tuple(stored)


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
        row = row_of(key, ctx)
        if row is not None:
            flow(key, change_of_row(key, row.value, None, row.timestamp), row.timestamp, ctx)

    def row_of(key: str, ctx: Context[Any]) -> Stamped[Any] | None:
        view = bound.view(table)
        try:
            return bound.strictly(view.get, key)
        except FAILURES as error:
            # Report the failure, and send what the table has without it: the row of a left join may have lost only
            # its other side.
            bound.apart(Timer(ctx.timestamp, f"rows for {filling.label}", key), partial(_fail, error), ctx)
            return view.get(key)

    filling = Filling(
        tuple(node.filled),
        tuple(bound.store(node.stores[0]).name for node in tables),
        None if keyed is None else _in_order([bound.store(node.stores[0]) for node in keyed]),
        send,
        node.asks_old,
        node.fills_topic,
    )
    return filling


def _fail(error: BaseException, _ctx: Context[Any]) -> None:
    raise error


def passing(filling: Filling, flow: Flow) -> Flow:
    """Return the flow that passes on the changes of the rows that were sent.

    Deletions are always passed on: the store or topic may have a row from an earlier time. An aggregate can't have one,
    and would subtract it.
    """

    def pass_on(key: Any, change: Any, timestamp: int, ctx: Context[Any]) -> None:
        if filling.is_complete or filling.has_sent(key) or (change.new is None and not filling.uses_old):
            flow(key, change, timestamp, ctx)

    return pass_on


def key_tables(table: Node) -> tuple[Node, ...] | None:
    """Return the nodes whose stores together have the keys of a table's rows, or None if one has no order of keys."""
    stored: dict[Node, None] = {}
    for node in _before(table, lambda joined: joined.key_parents or joined.parents[:1]):
        if node.view is None or (node.stores and not hasattr(node.stores[0], "keys_after")):
            return None
        if node.stores:
            stored[node] = None
    return tuple(stored)


def _before(table: Node, parents_of: Callable[[Node], tuple[Node, ...]]) -> Iterator[Node]:
    """Yield a table and the tables from which it is computed, each once, as far as the first ones with stores."""
    waiting, seen = [table], {table}
    while waiting:
        node = waiting.pop()
        yield node
        if not node.stores:
            parents = [parent for parent in parents_of(node) if parent not in seen]
            seen.update(parents)
            waiting += reversed(parents)


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
