"""Joins of a stream with a stream, a table or a global table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from forebay.builder import joins
from forebay.builder.copartitioning import Side, bring_together, topic_part
from forebay.builder.graph import Graph
from forebay.builder.keys import on_keys, to_rows
from forebay.builder.nodes import Node, TopologyError
from forebay.builder.specs import Spec, format_or_refuse
from forebay.operators.results import Alone, Join
from forebay.time.durations import Duration, ms_of
from forebay.time.windows import JoinWindows
from forebay.utils.names import LONGEST_REPARTITION

if TYPE_CHECKING:
    from forebay.builder.stream import Stream
    from forebay.builder.table import GlobalTable, Table

K = TypeVar("K")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
R = TypeVar("R")
G = TypeVar("G")


class Joining(Generic[K, V]):
    """A stream that can be joined with streams, tables and global tables.

    Stream with stream: records of the same key join if their timestamps lie within `windows`. `store` prefixes the
    names of the two window stores. `alone` decides when an unmatched record is emitted.
    Stream with table: each record joins the row of its key; in a versioned table, the row as of the record's timestamp.
    With `grace_ms`, records wait in the store `waiting` for late updates of the table, measured in the stream's own
    time. `name` is the name of the repartition before the join, if one is needed. By default it is
    `<table>-joined`, with a number behind it if several joins of the topology use the table.
    Stream with global table: each record joins the row whose key `key_of` returns.

    Args:
        is_rekeyed: Whether the next operator that stores state by key repartitions the records. Either their keys may
            differ from those that they are partitioned by, or their timestamps from those by which the task ordered
            them.
    """

    def __init__(self, graph: Graph, node: Node, is_rekeyed: bool = False) -> None:
        self.graph = graph
        self.node = node
        self.is_rekeyed = is_rekeyed

    @overload
    def join(
        self,
        other: Stream[K, R],
        joiner: Callable[[V, R], O | None],
        into: Spec[O],
        *,
        windows: JoinWindows,
        store: str,
    ) -> Stream[K, O]: ...
    @overload
    def join(
        self,
        other: Table[K, R],
        joiner: Callable[[V, R], O | None],
        into: Spec[O],
        *,
        grace_ms: Duration = 0,
        waiting: str = "",
        name: str = "",
    ) -> Stream[K, O]: ...
    @overload
    def join(
        self,
        other: GlobalTable[G, R],
        joiner: Callable[[V, R], O | None],
        into: Spec[O],
        *,
        key_of: Callable[[K, V], G | None],
    ) -> Stream[K, O]: ...
    def join(self, other: Any, joiner: Any, into: Any, **how: Any) -> Any:
        """Join each record with its matches (inner join). An unmatched record is dropped.

        Args:
            other: Stream, table or global table.
            joiner: Function of both values that returns the joined value.
            into: Type or format of the joined values.
            **how: Options of the kind of join, as in the signatures above.

        Raises:
            TopologyError: An option is missing or belongs to another kind of join, or equal keys of the two sides would
                be in different tasks.
        """
        return self._join(other, joiner, into, Join.INNER, **how)

    @overload
    def left_join(
        self,
        other: Stream[K, R],
        joiner: Callable[[V, R | None], O | None],
        into: Spec[O],
        *,
        windows: JoinWindows,
        store: str,
        alone: Alone = Alone.AT_CLOSE,
    ) -> Stream[K, O]: ...
    @overload
    def left_join(
        self,
        other: Table[K, R],
        joiner: Callable[[V, R | None], O | None],
        into: Spec[O],
        *,
        grace_ms: Duration = 0,
        waiting: str = "",
        name: str = "",
    ) -> Stream[K, O]: ...
    @overload
    def left_join(
        self,
        other: GlobalTable[G, R],
        joiner: Callable[[V, R | None], O | None],
        into: Spec[O],
        *,
        key_of: Callable[[K, V], G | None],
    ) -> Stream[K, O]: ...
    def left_join(self, other: Any, joiner: Any, into: Any, **how: Any) -> Any:
        """Join as `join` does, and emit each unmatched record with None in place of its match.

        In a join of two streams, an unmatched record is emitted when its window closes, unless `alone` sets a time.
        """
        return self._join(other, joiner, into, Join.LEFT, **how)

    def outer_join(
        self,
        other: Stream[K, R],
        joiner: Callable[[V | None, R | None], O | None],
        into: Spec[O],
        *,
        windows: JoinWindows,
        store: str,
        alone: Alone = Alone.AT_CLOSE,
    ) -> Stream[K, O]:
        """Join as `left_join` does, and emit the unmatched records of the other stream as well."""
        if not isinstance(other, Joining):
            raise TopologyError(f"outer_join() joins two streams, {type(other).__name__} is not one: use left_join()")
        stream: Stream[K, O] = self._with_stream(
            other, joiner, into, Join.OUTER, windows=windows, store=store, alone=alone
        )
        return stream

    def _join(self, other: Any, joiner: Any, into: Any, kind: Join, **how: Any) -> Any:
        from forebay.builder.table import GlobalTable, Table  # noqa: PLC0415 (streams and tables make each other)

        if isinstance(other, Joining):
            _check_options("stream", how, {"windows": "within(ms)", "store": '"NAME"'}, ["alone"])
            return self._with_stream(other, joiner, into, kind, **how)
        if isinstance(other, Table):
            _check_options("table", how, {}, ["grace_ms", "waiting", "name"])
            return self._with_table(other, joiner, into, kind, **how)
        if isinstance(other, GlobalTable):
            _check_options("global table", how, {"key_of": "lambda key, value: ..."}, [])
            return self._with_global(other, joiner, into, kind, **how)
        raise TopologyError(f"{type(other).__name__} can't be joined: pass a stream, a table or a global table")

    def _with_stream(
        self,
        other: Any,
        joiner: Any,
        into: Any,
        kind: Join,
        *,
        windows: JoinWindows,
        store: str,
        alone: Alone = Alone.AT_CLOSE,
    ) -> Any:
        if not isinstance(windows, JoinWindows):
            raise TopologyError(
                f"join {store}: {windows!r:.60} is not a join window: pass within(ms) or JoinWindows(before, after)"
            )
        sides = (
            Side(self.partition_by_key(f"{store}-left"), f"{store}-left"),
            Side(other.partition_by_key(f"{store}-right"), f"{store}-right"),
        )
        check_keys(sides[0].node, sides[1].node, f"join {store}")
        left, right = bring_together(self.graph, sides)
        return self._add_stream(
            joins.with_stream(left, right, windows, joiner, format_or_refuse(into), kind, store, alone)
        )

    def _with_table(
        self,
        table: Table[Any, Any],
        joiner: Any,
        into: Any,
        kind: Join,
        *,
        grace_ms: Duration = 0,
        waiting: str = "",
        name: str = "",
    ) -> Any:
        into = format_or_refuse(into)
        name = name or self.graph.unused_name(topic_part(f"{table.name}-joined"), LONGEST_REPARTITION)
        sides = (
            Side(self.partition_by_key(name), name),
            Side(table.with_rows(), topic_part(f"{table.name}-along"), is_table=True),
        )
        check_keys(sides[0].node, sides[1].node, f"join {table.name}")
        parent, along = bring_together(self.graph, sides)
        return self._add_stream(joins.with_table(parent, along, joiner, into, kind, ms_of(grace_ms), waiting))

    def _with_global(
        self, table: GlobalTable[Any, Any], joiner: Any, into: Any, kind: Join, *, key_of: Callable[..., Any]
    ) -> Any:
        row_of = to_rows(table.node.key, on_keys(self.node.key, key_of))
        node = joins.with_global(self.node, table.node, row_of, joiner, format_or_refuse(into), kind)
        return self._add_stream(node, self.is_rekeyed)

    def _add_stream(self, node: Node, is_rekeyed: bool = False) -> Any:
        from forebay.builder.stream import Stream  # noqa: PLC0415 (streams and tables make each other)

        return Stream(self.graph, self.graph.add(node), is_rekeyed)

    def partition_by_key(self, name: str) -> Node:
        """Return a node whose records are partitioned by key. It adds a repartition if one is needed."""
        return self.graph.repartition(self.node, name) if self.is_rekeyed else self.node


def _check_options(other: str, given: Mapping[str, Any], needed: Mapping[str, str], more: Sequence[str]) -> None:
    """Raise TopologyError if a join lacks an option, or has an option of another kind of join.

    Args:
        other: Kind of the other side.
        given: Options of the join.
        needed: Example of each required option, by its name.
        more: Names of the optional ones.
    """
    missing = [f"{name}={example}" for name, example in needed.items() if name not in given]
    if missing:
        raise TopologyError(f"a join with a {other} needs {' and '.join(missing)}")
    foreign = [f"{name}=" for name in given if name not in needed and name not in more]
    if foreign:
        takes = ", ".join(f"{name}=" for name in (*needed, *more))
        raise TopologyError(f"a join with a {other} takes {takes}: leave out {', '.join(foreign)}")


def check_keys(one: Node, other: Node, what: str) -> None:
    """Raise TopologyError if equal keys of two nodes would be in different tasks."""
    if one.key.name != other.key.name:
        raise TopologyError(
            f"{what}: keys are {one.key} on one side and {other.key} on the other, so equal "
            "keys are in different tasks: convert the keys of one side with select_key(..., "
            "key=)"
        )
