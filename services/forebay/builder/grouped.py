"""Streams grouped by key or by key and window, and their aggregations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from forebay.builder import aggregates
from forebay.builder.aggregates import AnyFold, AnyWindows, check_windows
from forebay.builder.copartitioning import Side, bring_together
from forebay.builder.graph import Graph
from forebay.builder.joining import check_keys
from forebay.builder.keys import Windowed, on_keys
from forebay.builder.nodes import Node, TopologyError
from forebay.builder.specs import Spec, format_or_refuse
from forebay.formats import LONG, Format
from forebay.operators.folds import Fold, reducing
from forebay.operators.results import Emission
from forebay.time.durations import Duration

if TYPE_CHECKING:
    from forebay.builder.table import Table

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")
R = TypeVar("R")

COUNT: Fold[Any, int] = Fold(
    lambda: 0,
    lambda _key, _value, total: total + 1,
    lambda _key, _value, total: total - 1,
    lambda _key, one, two: one + two,
)


def check_fold(fold: Fold[V, A], verb: str) -> Fold[V, A]:
    """Return the fold. Raise TopologyError if it is not a Fold."""
    if not isinstance(fold, Fold):
        raise TopologyError(
            f"{verb} takes a Fold, not {fold!r:.80}: write Fold(lambda: 0, lambda key, value, total: ...), then the "
            "type of the aggregate"
        )
    return fold


class GroupedStream(Generic[K, V]):
    """A stream grouped by key. Aggregations ignore records without a key or value."""

    def __init__(self, graph: Graph, node: Node, is_rekeyed: bool) -> None:
        self.graph = graph
        self.node = node
        self._is_rekeyed = is_rekeyed

    def count(self, *, store: str) -> Table[K, int]:
        """Count the records of each key."""
        return self.aggregate(COUNT, LONG, store=store)

    def reduce(self, reducer: Callable[[V, V], V], *, store: str) -> Table[K, V]:
        """Combine the records of each key.

        Args:
            reducer: Function of the aggregate and the next value. The first value is the first aggregate.
            store: Name of the store that holds the aggregates.
        """
        return self.aggregate(reducing(reducer), self.node.value, store=store)

    def aggregate(self, fold: Fold[V, A], into: Spec[A], *, store: str) -> Table[K, A]:
        """Aggregate the records of each key with a fold.

        Args:
            fold: Initial aggregate and function that adds a record.
            into: Type or format of the aggregates.
            store: Name of the store that holds the aggregates.
        """
        return self.cogroup(fold).aggregate(into, store=store)

    def windowed_by(self, windows: AnyWindows, emit: Emission = Emission.UPDATES) -> WindowedStream[K, V]:
        """Assign the records of each key to windows.

        Args:
            windows: Tumbling, hopping or sliding windows, sessions, or unlimited windows.
            emit: Whether to emit every update of a window, only its final result when it closes, or both.
        """
        check_windows(windows)
        return WindowedStream(self, windows, emit)

    def cogroup(self, fold: Fold[V, A]) -> CogroupedStream[K, A]:
        """Begin an aggregation of several streams, each of which has its own fold.

        Args:
            fold: Fold of this stream. It also provides the initial aggregate.
        """
        return CogroupedStream([(self, check_fold(fold, "aggregate()"))])

    def partition_by_key(self, name: str) -> Node:
        """Return a node whose records are partitioned by key. It adds a repartition if one is needed."""
        return self.graph.repartition(self.node, name) if self._is_rekeyed else self.node


class WindowedStream(Generic[K, V]):
    """A stream grouped by key and window. Its aggregations are tables with a row for each key and window."""

    def __init__(self, stream: GroupedStream[K, V], windows: AnyWindows, emit: Emission) -> None:
        self._stream = stream
        self._windows = windows
        self._emit = emit

    def count(self, *, store: str, retention_ms: Duration = 0) -> Table[Windowed[K], int]:
        """Count the records of each window.

        Args:
            store: Name of the store that holds the counts.
            retention_ms: How long windows are stored. 0: as long as they may still change.
        """
        return self.aggregate(COUNT, LONG, store=store, retention_ms=retention_ms)

    def reduce(self, reducer: Callable[[V, V], V], *, store: str, retention_ms: Duration = 0) -> Table[Windowed[K], V]:
        """Combine the records of each window.

        Args:
            reducer: Function of the aggregate and the next value. The first value is the first aggregate.
            store: Name of the store that holds the aggregates.
            retention_ms: How long windows are stored. 0: as long as they may still change.
        """
        return self.aggregate(reducing(reducer), self._stream.node.value, store=store, retention_ms=retention_ms)

    def aggregate(
        self, fold: Fold[V, A], into: Spec[A], *, store: str, retention_ms: Duration = 0
    ) -> Table[Windowed[K], A]:
        """Aggregate the records of each window with a fold.

        Args:
            fold: Initial aggregate and function that adds a record. For sessions, also a function that merges two
                aggregates.
            into: Type or format of the aggregates.
            store: Name of the store that holds the aggregates.
            retention_ms: How long windows are stored. 0: as long as they may still change.
        """
        cogrouped = self._stream.cogroup(fold).windowed_by(self._windows, self._emit)
        return cogrouped.aggregate(into, store=store, retention_ms=retention_ms)


class CogroupedStream(Generic[K, A]):
    """Streams with the same key that are folded into one aggregate."""

    def __init__(self, sides: list[tuple[GroupedStream[K, Any], AnyFold]]) -> None:
        self._sides = sides

    def cogroup(self, stream: GroupedStream[K, R], fold: Fold[R, A]) -> CogroupedStream[K, A]:
        """Add a stream and its fold to the aggregation."""
        return CogroupedStream([*self._sides, (stream, check_fold(fold, "cogroup()"))])

    def windowed_by(self, windows: AnyWindows, emit: Emission = Emission.UPDATES) -> WindowedCogroup[K, A]:
        """Assign the records of all streams to windows.

        Args:
            windows: Tumbling, hopping or sliding windows, sessions, or unlimited windows.
            emit: Whether to emit every update of a window, only its final result when it closes, or both.
        """
        check_windows(windows)
        return WindowedCogroup(self, windows, emit)

    def aggregate(self, into: Spec[A], *, store: str) -> Table[K, A]:
        """Aggregate the records of each key.

        Args:
            into: Type or format of the aggregates.
            store: Name of the store that holds the aggregates.
        """
        from forebay.builder.table import Table  # noqa: PLC0415 (streams and tables make each other)

        parents, folds = self.parts(store)
        graph = self._sides[0][0].graph
        return Table(graph, graph.add(aggregates.aggregate(parents, folds, format_or_refuse(into), store)))

    def parts(self, store: str) -> tuple[list[Node], list[AnyFold]]:
        """Return the streams' nodes and their folds. All folds use the initial aggregate of the first one.

        Raises:
            TopologyError: Equal keys of the streams would be in different tasks.
        """
        names = [store] + [f"{store}-{number}" for number in range(2, len(self._sides) + 1)]
        sides = [
            Side(stream.partition_by_key(name), name) for (stream, _), name in zip(self._sides, names, strict=True)
        ]
        for other in sides[1:]:
            check_keys(sides[0].node, other.node, f"cogroup {store}")
        parents = list(bring_together(self.graph, sides))
        first = on_rows(parents[0].key, self._sides[0][1])
        folds = [first]
        for (_, fold), parent in zip(self._sides[1:], parents[1:], strict=True):
            own = on_rows(parent.key, fold)
            folds.append(replace(own, initial=first.initial, merge=own.merge or first.merge))
        return parents, folds

    @property
    def graph(self) -> Graph:
        """The graph that the streams belong to."""
        return self._sides[0][0].graph


class WindowedCogroup(Generic[K, A]):
    """Streams that are aggregated together, with one aggregate per key and window."""

    def __init__(self, cogrouped: CogroupedStream[K, A], windows: AnyWindows, emit: Emission) -> None:
        self._cogrouped = cogrouped
        self._windows = windows
        self._emit = emit

    def aggregate(self, into: Spec[A], *, store: str, retention_ms: Duration = 0) -> Table[Windowed[K], A]:
        """Aggregate the records of each window.

        Args:
            into: Type or format of the aggregates.
            store: Name of the store that holds the aggregates.
            retention_ms: How long windows are stored. 0: as long as they may still change.
        """
        from forebay.builder.table import Table  # noqa: PLC0415 (streams and tables make each other)

        parents, folds = self._cogrouped.parts(store)
        kind: Format[Any] = format_or_refuse(into)
        node = aggregates.windowed_aggregate(parents, self._windows, folds, kind, store, self._emit, retention_ms)
        return Table(self._cogrouped.graph, self._cogrouped.graph.add(node))


def on_rows(key: Format[Any], fold: AnyFold) -> AnyFold:
    """Return a fold whose functions are called with encoded keys."""
    if key.is_text:
        return fold
    return Fold(
        fold.initial,
        on_keys(key, fold.add),
        None if fold.subtract is None else on_keys(key, fold.subtract),
        None if fold.merge is None else on_keys(key, fold.merge),
    )
