"""Nodes that run a processor written by hand in the middle of a topology."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forebay.builder.graph import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.formats import Format
from forebay.processor.api import AnyProcessor, Context, Timer
from forebay.processor.engine import declared_stores
from forebay.processor.messages import Headers


class NodeContext:
    """What a processor in a topology sees: the task's context, with forwards going to what follows it.

    Args:
        name: before the names of its timers.
        out: where forwards go.
        of_row, row: read and write keys.
    """

    def __init__(
        self,
        name: str,
        out: Flow,
        of_row: Callable[[str], Any],
        row: Callable[[Any], str],
        keeps_key: bool,
    ) -> None:
        self._name = name
        self._out = out
        self._of_row = of_row
        self._row = row
        self._keeps_key = keeps_key
        self._ctx: Context[Any]
        self._time = -1
        self._text: str | None = None
        self.key: Any = None

    def of_element(self, ctx: Context[Any], key: Any, timestamp: int) -> NodeContext:
        """Give the context for an element that reached the node."""
        self._ctx, self._time, self._text = ctx, timestamp, key
        self.key = None if key is None else self._of_row(key)
        return self

    @property
    def timestamp(self) -> int:
        return self._time

    @property
    def stream_time(self) -> int:
        return self._ctx.stream_time

    @property
    def closing_time(self) -> int:
        return self._ctx.closing_time

    @property
    def topic(self) -> str:
        return self._ctx.topic

    @property
    def partition(self) -> int:
        return self._ctx.partition

    @property
    def offset(self) -> int:
        return self._ctx.offset

    @property
    def headers(self) -> Headers:
        return self._ctx.headers

    def forward(
        self,
        value: Any,
        key: Any = None,
        timestamp: int | None = None,
        to: str | None = None,
        headers: Headers | None = None,
    ) -> None:
        if to is not None or headers is not None:
            raise ValueError("a processor in a topology forwards to what follows it: give no to= and no headers=")
        if key is not None and self._keeps_key:
            raise ValueError("process_values() keeps the key: forward without one, or use process()")
        text = self._text if key is None else self._row(key)
        self._out(text, value, self._time if timestamp is None else timestamp, self._ctx)

    def late(self, by_ms: int) -> None:
        self._ctx.late(by_ms)

    def schedule(self, name: str, due: int, key: Any = None) -> None:
        self._ctx.schedule(self._name + name, due, self._timer_key(key))

    def cancel(self, name: str, key: Any = None) -> None:
        self._ctx.cancel(self._name + name, self._timer_key(key))

    def _timer_key(self, key: Any) -> str:
        if key == "":
            return ""
        return (self._text or "") if key is None else self._row(key)


def processed(
    parent: Node,
    name: str,
    make_processor: Callable[[], AnyProcessor],
    key: Format[Any],
    into: Format[Any],
    keeps_key: bool,
) -> Node:
    """Give the node that runs a processor; its stores are the topology's. Raises TopologyError."""
    declared = dict(declared_stores(make_processor()))
    if key.name != parent.key.name and keeps_key:
        raise TopologyError(f"process {name}: process_values() keeps the key's format")
    return Node(
        Kind.STEP,
        f"process {name}",
        key,
        into,
        (parent,),
        stores=tuple(declared.values()),
        make=lambda bound, out: _made(
            bound, out, name, make_processor(), list(declared), declared, (parent.key, key), keeps_key
        ),
    )


def _made(
    bound: Bound,
    out: Flow,
    name: str,
    processor: AnyProcessor,
    attributes: list[str],
    declared: Mapping[str, Any],
    keys: tuple[Format[Any], Format[Any]],
    keeps_key: bool,
) -> Made:
    for attribute in attributes:
        setattr(processor, attribute, bound.store(declared[attribute]))
    processor.opened()
    timer = f"process {name}: "
    context: Any = NodeContext(timer, out, reader_of_rows(keys[0]), writer_of_rows(keys[1]), keeps_key)

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if value is None:
            processor.removed(ctx.topic, context.of_element(ctx, key, timestamp))
        else:
            processor.process(value, context.of_element(ctx, key, timestamp))

    def on_timer(fired: Timer, ctx: Context[Any]) -> None:
        named = Timer(fired.due, fired.name[len(timer) :], fired.key)
        processor.on_timer(named, context.of_element(ctx, fired.key or None, fired.due))

    return Made((flow,), timer, on_timer)
