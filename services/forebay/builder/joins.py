"""Nodes that join a stream with a table, a global table or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.builder.views import AsOf
from forebay.formats import Format
from forebay.operators.closing import Closing
from forebay.operators.results import Alone, Join, Result
from forebay.operators.stream_stream import StreamStreamJoin, Unmatched
from forebay.operators.stream_table import StreamTableJoin
from forebay.operators.table import LatestByTimestamp, Table
from forebay.operators.waiting import Waiting
from forebay.processor.api import Context, Timer
from forebay.stores.buffers import Buffered, JoinBuffer
from forebay.stores.materialized import derived_store
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.time.windows import JoinWindows

Joiner = Callable[[Any, Any], Any]


def with_table(
    stream: Node, table: Node, joiner: Joiner, into: Format[Any], kind: Join, grace_ms: int, waiting: str
) -> Node:
    """Return the node that joins a stream with a table.

    Args:
        grace_ms: How long records wait for late updates of the table, in ms. 0: they do not wait.
        waiting: Name of the store of the records that wait; "" for none.

    Raises:
        TopologyError: The grace needs a store, or a table with a longer history.
    """
    versions = versions_of(table)
    # Kafka Streams refuses the same two declarations (KIP-923). Without versions, the row as of the record's time may
    # already be replaced when the grace ends.
    if grace_ms and versions is None:
        raise TopologyError(
            f"{table.name}: a join with a grace of {grace_ms} ms needs the table as of the record's time; read it with "
            "history_retention_ms=, or join without a grace"
        )
    if grace_ms and versions is not None and grace_ms > versions.history_retention_ms:
        raise TopologyError(
            f"{table.name}: the join's grace of {grace_ms} ms is longer than the table's history of "
            f"{versions.history_retention_ms} ms; give the table a history_retention_ms of at least {grace_ms}"
        )
    if grace_ms and not waiting:
        raise TopologyError(f"{table.name}: records that wait for the grace period need a store: name it with waiting=")
    # Declare the buffer without a grace, too. If an upgrade removes the grace, the timer still releases the records
    # that wait.
    buffer: JoinBuffer[Any] | None = JoinBuffer(waiting, stream.value) if waiting and versions is not None else None

    def make(bound: Bound, out: Flow) -> Made:
        if versions is None:
            return Made((_at_once(AsOf(table.name, bound.view(table)), joiner, kind, out),))
        own = bound.store(versions)
        rows = LatestByTimestamp(own)
        at_once = _of_versions(own, joiner, kind, out)
        if buffer is None:
            return Made((at_once,))
        join = StreamTableJoin(rows, kind, joiner, buffer=bound.store(buffer), grace_ms=grace_ms)
        held = Waiting(join, f"grace over: {waiting}")

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            joined = join.accept(key, value, timestamp)
            if joined is not None:
                give(joined, out, ctx)
            elif not bound.after_record(out, Timer(timestamp, held.timer, None), release, ctx):
                give_each(join.take(timestamp), ctx)
            held.watch(ctx)

        def release(ctx: Context[Any]) -> None:
            give_each(join.take(join.stream_time), ctx)
            held.watch(ctx)

        def give_each(records: Iterable[Buffered[Any]], ctx: Context[Any]) -> None:
            # Join each record separately. A record that fails must not stay in the buffer and fail every later record.
            for record_row in records:
                bound.apart(Timer(record_row.time, held.timer, record_row.key), partial(give_one, record_row), ctx)

        def give_one(record: Buffered[Any], ctx: Context[Any]) -> None:
            give(join.join(record), out, ctx)

        def on_timer(_timer: Timer, ctx: Context[Any]) -> None:
            give_each(held.take(ctx), ctx)
            held.watch(ctx)

        return Made((_of_history(own, flow) if grace_ms else at_once,), held.timer, on_timer)

    return Node(
        Kind.STEP,
        f"join {table.name} ({kind.value})",
        stream.key,
        into,
        (stream,),
        (table,),
        stores=() if buffer is None else (buffer,),
        make=make,
        waits_for_sides=True,
        horizon_ms=grace_ms,
    )


def _of_history(versions: VersionedKeyValueStore[Any], joined: Flow) -> Flow:
    """Return a flow that also sends a record to `.late` if its version of the row is no longer in the history."""
    history = versions.history_retention_ms

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        late_by = versions.stream_time - history - timestamp
        if late_by > 0 and value is not None and key is not None and versions.get(key, timestamp) is None:
            ctx.late(late_by)
        joined(key, value, timestamp, ctx)

    return flow


def _of_versions(versions: VersionedKeyValueStore[Any], joiner: Joiner, kind: Join, out: Flow) -> Flow:
    """Return a flow that joins records immediately, and sends records to `.late` as `_of_history` does."""
    look_up, is_inner = versions.get, kind is Join.INNER

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if value is None:
            return
        # A left join keeps a record without a key and joins it with None (KIP-962). An inner join drops it.
        version = None if key is None else look_up(key, timestamp)
        if version is not None:
            out(key, joiner(value, version.value), timestamp, ctx)
            return
        late_by = versions.stream_time - versions.history_retention_ms - timestamp
        if late_by > 0 and key is not None:
            ctx.late(late_by)
        if not is_inner:
            out(key, joiner(value, None), timestamp, ctx)

    return flow


def _at_once(rows: Table[Any], joiner: Joiner, kind: Join, out: Flow) -> Flow:
    look_up, is_inner = rows.get_as_of, kind is Join.INNER

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if value is None:
            return
        # As above, a left join emits a record without a key.
        row = None if key is None else look_up(key, timestamp)
        if row is not None or not is_inner:
            out(key, joiner(value, row), timestamp, ctx)

    return flow


def with_global(
    stream: Node, table: Node, key_of: Callable[[Any, Any], str | None], joiner: Joiner, into: Format[Any], kind: Join
) -> Node:
    """Return the node that joins a stream with a global table by a key that is computed from each record."""

    def make(bound: Bound, out: Flow) -> Made:
        rows, is_inner = bound.view(table), kind is Join.INNER

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is None:
                return
            row_key = key_of(key, value)
            row = None if row_key is None else rows.get(row_key)
            if row is not None or not is_inner:
                out(key, joiner(value, None if row is None else row.value), timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"join {table.name} ({kind.value})", stream.key, into, (stream,), (table,), make=make)


def with_stream(
    left: Node,
    right: Node,
    windows: JoinWindows,
    joiner: Joiner,
    into: Format[Any],
    kind: Join,
    store: str,
    alone: Alone = Alone.AT_CLOSE,
) -> Node:
    """Return the node that joins two streams, or a stream with itself."""
    # A join of records with equal timestamps has a difference of 0, but a window store refuses windows shorter than 1
    # ms.
    size = max(1, windows.before_ms + windows.after_ms)
    # Like Kafka Streams, a late record is joined as long as the other store retains its matches: window plus grace. The
    # additional millisecond is for one-sided windows. Without it, the store would hide a record at the end of its
    # window.
    reach = max(windows.before_ms, windows.after_ms) + windows.grace_ms + 1
    retention = max(size, windows.retention_ms, reach)

    def side(name: str, node: Node) -> WindowStore[Any]:
        return WindowStore(
            derived_store(store, name), node.value, size_ms=size, retention_ms=retention, duplicates=Duplicates.KEEP
        )

    lefts, rights = side("left", left), side("right", right)
    left_waiting: JoinBuffer[Any] | None = None
    right_waiting: JoinBuffer[Any] | None = None
    # An inner join emits nothing for an unmatched record, so it needs no buffer. A left join buffers its left side
    # only.
    if kind is not Join.INNER:
        left_waiting = JoinBuffer(derived_store(store, "left-waiting"), left.value)
    if kind is Join.OUTER:
        right_waiting = JoinBuffer(derived_store(store, "right-waiting"), right.value)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(lefts)
        join = StreamStreamJoin(
            own,
            bound.store(rights),
            windows,
            kind,
            joiner,
            left_waiting=None if left_waiting is None else bound.store(left_waiting),
            right_waiting=None if right_waiting is None else bound.store(right_waiting),
            alone=alone,
        )
        closing = Closing(own.marks, f"release: {store}")

        def watch(ctx: Context[Any]) -> None:
            due = join.next_release()
            if due is not None:
                closing.watch(ctx, due)

        def release(ctx: Context[Any]) -> None:
            # Join each row separately. A row that fails must not be due again with every later record.
            for row in join.take_unmatched(ctx.closing_time):
                bound.apart(Timer(row.time, closing.timer, row.key), partial(give_one, row), ctx)

        def give_one(unmatched: Unmatched[Any, Any], ctx: Context[Any]) -> None:
            give((join.join_alone(unmatched),), out, ctx)

        # Unmatched rows whose window closed are emitted before the record's results, as in Kafka Streams. If the join
        # released them itself, a row that fails would fail this record.
        def on_left(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            release(ctx)
            give(join.on_left(key, value, timestamp, ctx.closing_time), out, ctx)
            watch(ctx)

        def on_right(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            release(ctx)
            give(join.on_right(key, value, timestamp, ctx.closing_time), out, ctx)
            watch(ctx)

        def on_timer(_timer: Timer, ctx: Context[Any]) -> None:
            release(ctx)
            closing.schedule_next(ctx, join.next_release())

        return Made((on_left, on_right), closing.timer, on_timer)

    waiting = tuple(side for side in (left_waiting, right_waiting) if side is not None)
    return Node(
        Kind.STEP,
        f"join streams as {store} ({kind.value})",
        left.key,
        into,
        (left, right),
        stores=(lefts, rights, *waiting),
        make=make,
        horizon_ms=windows.retention_ms + 1,
    )


def versions_of(table: Node) -> VersionedKeyValueStore[Any] | None:
    """Return the store of a versioned table, or None if the table is not versioned."""
    for store in table.stores:
        if isinstance(store, VersionedKeyValueStore):
            return store
    return None


def give(results: Iterable[Result[Any]], out: Flow, ctx: Context[Any]) -> None:
    """Forward results."""
    for key, value, timestamp in results:
        out(key, value, timestamp, ctx)
