"""Contexts of processors in a topology."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from forebay.builder.keys import writer_of_rows
from forebay.builder.nodes import Flow
from forebay.formats import Format
from forebay.processor.api import NO_KEY, Context, NoKey
from forebay.processor.messages import Headers


class Chosen(NamedTuple):
    """A value that is forwarded to one of a processor's children."""

    child: str
    value: Any


class OtherHeaders:
    """A task's context for an element that is forwarded with its own headers."""

    def __init__(self, ctx: Context[Any], headers: Headers) -> None:
        self._ctx = ctx
        self.headers = headers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


class NodeContext:
    """The context of a processor in a topology: the task's context, with forwards to the node's successors.

    Args:
        name: Prefix of the names of its timers.
        out: Flow that receives its forwards.
        of_row, row: Functions that decode the keys of elements and encode the keys of forwards.
        keeps_key: Whether forwards must keep the key of the element.
        children: Names of which each forward must choose one. If there are none, a forward goes to all successors.
        timer_row: Function that encodes the keys of timers, in the format of the elements' keys. It returns None for
            a timer of the whole task. None: `row`.
    """

    def __init__(
        self,
        name: str,
        out: Flow,
        of_row: Callable[[str], Any],
        row: Callable[[Any], str],
        keeps_key: bool,
        children: Collection[str] = (),
        timer_row: Callable[[Any], str | None] | None = None,
    ) -> None:
        self._name = name
        self._timer_row = timer_row or row
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
        """Return the context, set to an element that reached the node."""
        self._ctx, self._time, self._text = ctx, timestamp, key
        self.key = None if key is None else self._of_row(key)
        return self

    @property
    def timestamp(self) -> int:
        return self._time

    @property
    def current_stream_time(self) -> int:
        return self._ctx.current_stream_time

    @property
    def current_system_time(self) -> int:
        return self._ctx.current_system_time

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
        if (to is not None) != bool(self._children) or (to is not None and to not in self._children):
            named = f"one of {', '.join(self._children)}" if self._children else "what follows, without to="
            raise ValueError(f"there is no target {to!r}: forward to {named}")
        if key is not None and self._keeps_key:
            raise ValueError("process_values() can't change the key: call forward() without key=, or use process()")
        # Without a key, a forward keeps the record's key. `NO_KEY` is the only way to send a record without one.
        text = self._text if key is None else None if key is NO_KEY else self._row(key)
        element = value if to is None else Chosen(to, value)
        ctx: Any = self._ctx if headers is None else OtherHeaders(self._ctx, headers)
        self._out(text, element, self._time if timestamp is None else timestamp, ctx)

    def late(self, by_ms: int) -> None:
        self._ctx.late(by_ms)

    def schedule(self, name: str, due: int, key: Any = None) -> None:
        self._ctx.schedule(self._name + name, due, self._timer_key(key))

    def cancel(self, name: str, key: Any = None) -> None:
        self._ctx.cancel(self._name + name, self._timer_key(key))

    def _timer_key(self, key: Any) -> str | NoKey:
        text = self._text if key is None else None if key is NO_KEY else self._timer_row(key)
        return NO_KEY if text is None else text


def timer_writer(kind: Format[Any]) -> Callable[[Any], str | None]:
    """Return the function that encodes the keys of timers in the format of a stream's keys.

    If keys are not texts, an empty text is no key. Topologies of earlier releases use it for a timer of the whole task.
    """
    row = writer_of_rows(kind)
    return row if kind.type is str else lambda key: None if key.__class__ is str and not key else row(key)


class RowContext(NodeContext):
    """The context of a ValueTransformer, which returns the row. It refuses forwards and timers."""

    def __init__(self, of_row: Callable[[str], Any]) -> None:
        super().__init__("", _nowhere, of_row, str, keeps_key=True)

    def forward(self, value: Any, key: Any = None, *_: Any, **__: Any) -> None:
        raise ValueError(
            "transform_values() returns one row for each row: return the value, or use to_stream().process()"
        )

    def schedule(self, name: str, due: int, key: Any = None) -> None:
        raise ValueError("transform_values() has no timers: use to_stream().process()")


def _nowhere(_key: Any, _value: Any, _timestamp: int, _ctx: Context[Any]) -> None:
    """Ignore an element of a node without successors."""


class Punctuation:
    """The wall-clock schedule of a processor. The task checks it at most once every `step_ms`.

    The result for the same time is always the same, because a commit may be computed twice.
    """

    def __init__(self, interval_ms: int, step_ms: int) -> None:
        self._interval = interval_ms
        self._step = step_ms
        self._at: int | None = None

    def is_due(self, now: int) -> bool:
        """Return whether the interval has passed at `now` (ms)."""
        if self._at is None:
            self._at = now - self._step
        if now - self._at >= self._interval:
            self._at = now
        return now == self._at
