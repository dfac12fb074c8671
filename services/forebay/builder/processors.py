"""Nodes that run a processor written by hand in the middle of a topology."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from forebay.builder.graph import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.formats import Format
from forebay.processor.api import AnyProcessor, Context, Timer
from forebay.processor.engine import declared_stores
from forebay.processor.messages import Headers


class Chosen(NamedTuple):
    """A value on its way to one of a processor's children."""

    child: str
    value: Any


class NodeContext:
    """What a processor in a topology sees: the task's context, with forwards going to what follows it.

    Args:
        name: before the names of its timers.
        out: where forwards go.
        children: names that a forward may choose among; none: there is one way on.
        of_row, row: read and write keys.
    """

    def __init__(
        self,
        name: str,
        out: Flow,
        of_row: Callable[[str], Any],
        row: Callable[[Any], str],
        keeps_key: bool,
        children: Collection[str] = (),
    ) -> None:
        self._name = name
        self._out = out
        self._children = children
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
        if headers is not None:
            raise ValueError("a processor in a topology sends the record's own headers on: give no headers=")
        if (to is not None) != bool(self._children) or (to is not None and to not in self._children):
            named = f"one of {', '.join(self._children)}" if self._children else "what follows, without to="
            raise ValueError(f"a forward to {to!r} leads nowhere: forward to {named}")
        if key is not None and self._keeps_key:
            raise ValueError("process_values() keeps the key: forward without one, or use process()")
        text = self._text if key is None else self._row(key)
        given = value if to is None else Chosen(to, value)
        self._out(text, given, self._time if timestamp is None else timestamp, self._ctx)

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
    children: Collection[str] = (),
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
            bound, out, name, make_processor(), list(declared), declared, (parent.key, key), keeps_key, children
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
    children: Collection[str],
) -> Made:
    for attribute in attributes:
        setattr(processor, attribute, bound.store(declared[attribute]))
    processor.opened()
    timer = f"process {name}: "
    context: Any = NodeContext(timer, out, reader_of_rows(keys[0]), writer_of_rows(keys[1]), keeps_key, children)

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if value is None:
            processor.removed(ctx.topic, context.of_element(ctx, key, timestamp))
        else:
            processor.process(value, context.of_element(ctx, key, timestamp))

    def on_timer(fired: Timer, ctx: Context[Any]) -> None:
        named = Timer(fired.due, fired.name[len(timer) :], fired.key)
        processor.on_timer(named, context.of_element(ctx, fired.key or None, fired.due))

    return Made((flow,), timer, on_timer)


def child(parent: Node, name: str, into: Format[Any]) -> Node:
    """Give the node that takes what a processor forwards to the child of a name."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Chosen, timestamp: int, ctx: Context[Any]) -> None:
            if value.child == name:
                out(key, value.value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"child {name}", parent.key, into, (parent,), make=make)
