"""Nodes of tables, which read, filter, map, join or store rows or turn them into a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from forebay.builder.deferral import Element
from forebay.builder.nodes import Bound, Flow, History, Kind, Made, Node
from forebay.builder.views import Filtered, Mapped, Timeless
from forebay.formats import Format
from forebay.operators.results import Join
from forebay.operators.table import Change, LatestByOffset, LatestByTimestamp, Table, change_of_row
from forebay.operators.table_table import JoinedTable, TableTableJoin
from forebay.processor.api import Context, LateRecord
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.time.durations import Duration

Rows = TimestampedKeyValueStore[Any] | VersionedKeyValueStore[Any]


def table(
    source: Node,
    store: str,
    history_retention_ms: Duration | None,
    *,
    is_alone: bool = False,
    is_copy: bool = False,
) -> Node:
    """Return the node that stores a stream's records as a table.

    Args:
        is_alone: Whether no other node reads the stream. A record that is too late for the table then has no effect.
        is_copy: Whether the records are the changes of another table, which has accepted them.
    """
    declared: Rows
    if history_retention_ms is None:
        declared = TimestampedKeyValueStore(store, source.value)
    else:
        declared = VersionedKeyValueStore(store, source.value, history_retention_ms=history_retention_ms)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)
        late_by = _lateness(own, is_copy=is_copy)
        # Without versions, the last record by offset wins, even if its timestamp is older, as in Kafka Streams. A
        # versioned table orders by timestamp.
        rows: Table[Any] = (
            LatestByTimestamp(own, is_copy=is_copy) if isinstance(own, VersionedKeyValueStore) else LatestByOffset(own)
        )
        # If rows are only looked up, no node needs a row's old value.
        update = rows.update if bound.is_followed(node) else _putting(own, is_copy=is_copy)
        if isinstance(rows, LatestByTimestamp) and bound.sends_history(node):
            update = rows.update_any

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if key is None:
                return
            if late_by is not None and (late := late_by(key, timestamp)) > 0:
                # If nothing else reads the record, the whole record is late. Otherwise the other nodes must still
                # process it.
                if is_alone:
                    raise LateRecord(late)
                ctx.late(late)
            change = update(key, value, timestamp)
            if change is not None:
                out(key, change, timestamp, ctx)

        return Made((flow,))

    source_node = _node(
        f"table {store}", source, source.value, make, stores=(declared,), view=lambda b: _view(b, declared)
    )
    node = replace(source_node, is_table=True)
    return node


def _lateness(rows: Rows, *, is_copy: bool) -> Callable[[str, int], int] | None:
    """Return the function by how many ms a version is too late, or None if rows are stored without versions."""
    if not isinstance(rows, VersionedKeyValueStore):
        return None
    versions = rows

    def late_by(key: str, timestamp: int) -> int:
        late = versions.late_by(timestamp)
        return 0 if late > 0 and is_copy and versions.is_latest(key, timestamp) else late

    return late_by


def _putting(rows: Rows, *, is_copy: bool) -> Callable[[str, Any, int], None]:
    """Return the function that puts rows and returns no change."""
    put = rows.put_row if is_copy and isinstance(rows, VersionedKeyValueStore) else rows.put

    def update(key: str, value: Any, timestamp: int) -> None:
        put(key, value, timestamp)

    return update


def _view(bound: Bound, declared: Rows) -> Any:
    own = bound.store(declared)
    return LatestByTimestamp(own) if isinstance(own, VersionedKeyValueStore) else own


def global_table(source: Node, store: str) -> Node:
    """Return the node that stores all rows of a topic in every task."""
    declared: KeyValueStore[Any] = KeyValueStore(store, source.value)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)
        # A global table forwards nothing. As in Kafka Streams, its updates trigger no join.
        return Made((lambda key, value, _timestamp, _ctx: own.put(key, value),))

    source_node = _node(f"global table {store}", source, source.value, make, stores=(declared,))
    return replace(source_node, view=lambda bound: Timeless(bound.store(declared)), is_global=True)


def filter_node(parent: Node, name: str, keeps: Callable[[str, Any], bool]) -> Node:
    """Return the node that filters rows. A row that no longer passes is deleted."""

    def make(bound: Bound, out: Flow) -> Made:
        sends_history = bound.sends_history(node)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            new = change.new if change.new is not None and keeps(key, change.new) else None
            old = change.old if change.old is not None and bound.former(keeps, key, change.old) else None
            # A row that passes neither before nor after the change needs no tombstone. If a change is not the latest,
            # the old row is unknown, so it is forwarded.
            if new is not None or old is not None or not change.is_latest:
                out(key, change.with_values(new, old), timestamp, ctx)
            elif sends_history:
                out(key, _end_of_older_rows(key, timestamp), timestamp, ctx)

        return Made((flow,))

    new_node = _node(name, parent, parent.value, make, view=lambda bound: Filtered(bound.view(parent), keeps))
    node = replace(new_node, history=History.PASSES)
    return node


def _end_of_older_rows(key: Any, timestamp: int) -> Change[Any]:
    """Return the change by which a history records that there is no row from a time on, as there was none before.

    Otherwise, an older row that arrives later would be valid at this time, too. Nodes without a history ignore the
    change, because it does not count as the latest one.
    """
    return Change(key, None, None, timestamp, is_latest=False)


def map_node(parent: Node, into: Format[Any], mapper: Callable[[str, Any], Any]) -> Node:
    """Return the node that maps each row's value."""

    def make(bound: Bound, out: Flow) -> Made:
        # Compute the old value only if a later node subtracts it, because the mapper may be expensive.
        sends_old = bound.sends_old(node)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            new = None if change.new is None else mapper(key, change.new)
            old = bound.former(mapper, key, change.old) if sends_old and change.old is not None else None
            out(key, change.with_values(new, old), timestamp, ctx)

        return Made((flow,))

    new_node = _node(f"map to {into}", parent, into, make, view=lambda bound: Mapped(bound.view(parent), mapper))
    node = replace(new_node, history=History.PASSES)
    return node


def join_node(left: Node, right: Node, joiner: Callable[[Any, Any], Any], into: Format[Any], kind: Join) -> Node:
    """Return the node that joins two tables with the same keys."""

    def make(bound: Bound, out: Flow) -> Made:
        views = bound.view(left), bound.view(right)
        join = TableTableJoin(*views, kind, joiner, lambda one, other: bound.former(joiner, one, other))

        def on_left(key: Any, change: Any, timestamp: int, ctx: Context[Any]) -> None:
            update = join.on_left(change)
            if update is not None:
                out(key, update, update.timestamp, ctx)

        def on_right(key: Any, change: Any, timestamp: int, ctx: Context[Any]) -> None:
            update = join.on_right(change)
            if update is not None:
                out(key, update, update.timestamp, ctx)

        def on_both(elements: Sequence[Element]) -> None:
            for key, (sides, ctx) in _by_key(elements).items():
                update = join.on_both(*sides)
                if update is not None:
                    out(key, update, update.timestamp, ctx)

        return Made((on_left, on_right), join_all=on_both)

    return Node(
        Kind.STEP,
        f"join {left.name} and {right.name} ({kind.value})",
        left.key,
        into,
        (left, right),
        make=make,
        view=lambda bound: JoinedTable(bound.view(left), bound.view(right), kind, joiner),
        waits_for_sides=True,
        gives_rows=True,
        key_parents=(left, right) if kind is Join.OUTER else (left,),
    )


def _by_key(elements: Sequence[Element]) -> dict[Any, tuple[list[Change[Any] | None], Context[Any]]]:
    """Return the changes of the left and the right side and the context, by key.

    Several changes of a side become one, from the first old value to the last new value.
    """
    changes_by_key: dict[Any, tuple[list[Change[Any] | None], Context[Any]]] = {}
    for side, key, change, _, ctx in elements:
        sides: list[Change[Any] | None] = changes_by_key[key][0] if key in changes_by_key else [None, None]
        before = sides[side]
        # Several changes of one side become one change from the first old row to the last new row, so no intermediate
        # row is ever joined.
        sides[side] = change if before is None else change._replace(old=before.old, old_timestamp=before.old_timestamp)
        changes_by_key[key] = sides, ctx
    return changes_by_key


def has_rows(node: Node) -> bool:
    """Return whether the rows of a table can be looked up. A suppressed table has only a buffer of pending updates."""
    return node.view is not None and (bool(node.stores) or all(map(has_rows, node.parents)))


def stored_rows(parent: Node, store: str) -> Node:
    """Return the node that stores a table's rows in a separate store."""
    declared: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(store, parent.value)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            # Use the stored row as the old one. The change may come from a node that does not know old values.
            previous = own.get(key)
            own.put(key, change.new, timestamp)
            if previous is not None or change.new is not None:
                out(key, change_of_row(key, change.new, previous, timestamp), timestamp, ctx)

        return Made((flow,))

    node = _node(f"keep {store}", parent, parent.value, make, stores=(declared,), view=lambda b: b.store(declared))
    return replace(node, asks_old=False, filled=[store])


def kept_versions(parent: Node, store: str, history_retention_ms: Duration) -> Node:
    """Return the node that stores a table's rows and their earlier versions, by timestamp."""
    declared: VersionedKeyValueStore[Any] = VersionedKeyValueStore(
        store, parent.value, history_retention_ms=history_retention_ms
    )

    def make(bound: Bound, out: Flow) -> Made:
        rows = LatestByTimestamp(bound.store(declared), is_copy=True)
        sends_history = bound.sends_history(node)
        update = rows.update_any if sends_history else rows.update

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            versioned = update(key, change.new, timestamp)
            if versioned is None:
                return
            if versioned.old is not None or versioned.new is not None or not versioned.is_latest:
                out(key, versioned, timestamp, ctx)
            elif sends_history:
                out(key, _end_of_older_rows(key, timestamp), timestamp, ctx)

        return Made((flow,))

    new_node = _node(f"keep {store}", parent, parent.value, make, stores=(declared,), view=lambda b: _view(b, declared))
    node = replace(new_node, asks_old=False, history=History.KEEPS, filled=[store])
    return node


def to_stream(parent: Node, filled: Sequence[str] = (), *, fills_topic: bool = False) -> Node:
    """Return the node that forwards a table's changes as a stream: the new value, or null for a deleted row.

    Args:
        filled, fills_topic: What must get all rows of the table. See Node.
    """

    def make(bound: Bound, out: Flow) -> Made:
        return Made((lambda key, change, timestamp, ctx: out(key, change.new, timestamp, ctx),))

    node = _node("to stream", parent, parent.value, make)
    return replace(node, asks_old=False, filled=[*filled], fills_topic=fills_topic)


def _node(name: str, parent: Node, value: Format[Any], make: Callable[[Bound, Flow], Made], **more: Any) -> Node:
    return Node(Kind.STEP, name, parent.key, value, (parent,), make=make, gives_rows=True, **more)
