"""The node that holds back a table's changes (suppress)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from forebay.builder.keys import split_row
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.operators.closing import Closing
from forebay.operators.suppress import Suppress, Until, UntilWindowCloses, WhenFull
from forebay.operators.table import Change
from forebay.processor.api import Context, Timer
from forebay.stores.buffers import SuppressBuffer, Suppressed


def check_closing(parent: Node, until: UntilWindowCloses, name: str) -> None:
    """Raise TopologyError if results would be emitted before the windows of the table close."""
    for node in _windowed_before(parent):
        # After its own windows close, the aggregate changes no result. A later time only delays the results.
        if until.windows.closed_until(0) > node.windows.closed_until(0):
            raise TopologyError(
                f"{name}: the windows of UntilWindowCloses close earlier than those of the aggregate at {node.where}, "
                "so a result could be sent before it is final: pass the same windows, with their grace"
            )


def _windowed_before(node: Node) -> Iterator[Node]:
    """Yield the nearest nodes at or before a node that aggregate by window."""
    waiting, seen = [node], set[Node]()
    while waiting:
        node = waiting.pop()
        if node.windows is not None:
            yield node
        elif node not in seen:
            seen.add(node)
            waiting += node.parents


def suppression_node(
    parent: Node, until: Until, store: str, max_records: int | None, max_bytes: int | None, when_full: WhenFull
) -> Node:
    """Return the node that holds back a table's updates until they are due, and then emits the newest of each key."""
    declared: SuppressBuffer[Any] = SuppressBuffer(store, parent.value)
    in_windows = isinstance(until, UntilWindowCloses)

    def make(bound: Bound, out: Flow) -> Made:
        buffer = bound.store(declared)
        operator: Suppress[Any] = Suppress(
            buffer, until, max_records=max_records, max_bytes=max_bytes, when_full=when_full
        )
        closing = Closing(buffer.marks, f"release: {store}")

        def give(released: Iterable[Suppressed[Any]], ctx: Context[Any]) -> None:
            # A row that fails leaves the buffer. The failure affects neither other rows nor the record that made it
            # due.
            for row in released:
                # Report the failure under the record's key. The row text also contains the window, which no input
                # record has.
                key = split_row(row.key)[0] if in_windows else row.key
                bound.apart(Timer(row.timestamp, closing.timer, key), partial(give_one, row), ctx)

        def give_one(row: Suppressed[Any], ctx: Context[Any]) -> None:
            # A window's final result has no old value. After a time limit the old value is unknown, and operators that
            # need it refuse the table (`knows_old`).
            out(row.key, Change(row.key, row.value, None, row.timestamp), row.timestamp, ctx)

        def next_release() -> int | None:
            first = buffer.first_time()
            return None if first is None else until.closes_at(first)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            window = split_row(key)[1] if in_windows else None
            operator.put(key, window, change.new, timestamp, ctx.closing_time)
            # A join that is deferred until the end of the record would treat the released rows as rows of that record.
            if not bound.after_record(out, Timer(ctx.closing_time, closing.timer, None), release, ctx):
                give(operator.release(ctx.closing_time), ctx)
            due = next_release()
            if due is not None:
                closing.watch(ctx, due)

        def release(ctx: Context[Any]) -> None:
            give(operator.release(ctx.closing_time), ctx)
            closing.schedule_next(ctx, next_release())

        def on_timer(timer: Timer, ctx: Context[Any]) -> None:
            # A record that makes an update due may also replace it, so it is processed first, as in Kafka Streams.
            if bound.after_record(out, timer, release, ctx):
                closing.schedule_next(ctx, ctx.closing_time + 1)
            else:
                release(ctx)

        return Made((flow,), closing.timer, on_timer)

    word = "window closes" if in_windows else "time limit"
    node = Node(
        Kind.STEP,
        f"suppress until {word}",
        parent.key,
        parent.value,
        (parent,),
        stores=(declared,),
        make=make,
        gives_rows=True,
    )
    return replace(node, asks_old=False)
