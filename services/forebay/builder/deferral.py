"""Deferral of joins: if one element can change both sides, they join once it has reached both of them.

A node forwards an element to its children one after the other. If two paths lead to a join, the join would use the
other side's rows as they are when the first path reaches it. If the other side has its own store, its row is not
updated yet. If its rows are computed from a store that both sides share, its row is already updated. The change that
the join emits would then begin or end with a row that never existed, and an aggregate that subtracts old values would
stay wrong.

A node has `waits_for_sides` if it is such a join, with a table on one or both sides. It has `changes_rows_again` if one
element may change a row of its table twice. Its store then contains the last row when the first change is forwarded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, ParamSpec

from forebay.builder.nodes import Flow, Made, Node
from forebay.processor.api import Context

P = ParamSpec("P")
Isolated = Callable[[Callable[[], None], Context[Any]], None]
"""Runs a step of a record so that a failure undoes only this step."""


class Element(NamedTuple):
    """An element that reached one side of a join: key, value (of a table: its change), timestamp in ms."""

    side: int
    key: Any
    value: Any
    timestamp: int
    ctx: Context[Any]


class Deferral:
    """The elements that reached a join while a branching before it is forwarding an element.

    Args:
        made: The join's operator.
    """

    __slots__ = ("_elements", "_join", "depth")

    def __init__(self, made: Made) -> None:
        self._join = made.join_all or _one_by_one(made)
        self._elements: list[Element] = []
        self.depth = 0
        """Number of branchings before the join that are forwarding an element."""

    def flow(self, side: int) -> Flow:
        """Return the flow that receives the elements of a side."""

        def take(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            element = Element(side, key, value, timestamp, ctx)
            if self.depth:
                self._elements.append(element)
            else:
                self._join((element,))

        return take

    def leave(self) -> Sequence[Element]:
        """Record that a branching has forwarded its element. Return the elements to join, once it was the last one."""
        self.depth -= 1
        if self.depth:
            return ()
        elements, self._elements = self._elements, []
        return elements

    def join(self, elements: Sequence[Element]) -> None:
        """Join deferred elements."""
        self._join(elements)

    def mark(self) -> tuple[int, int]:
        """Return the depth and the number of deferred elements, for `go_back`."""
        return self.depth, len(self._elements)

    def go_back(self, mark: tuple[int, int]) -> None:
        """Restore the state at a mark, after a step that failed."""
        self.depth, count = mark
        del self._elements[count:]


class Branching:
    """A flow that defers joins while it forwards elements.

    Args:
        flow: Flow that receives the elements.
        deferrals: Deferrals of the joins, in the order of the graph, because a join may be a side of a later one.
        isolated: Function that runs a join's step so that a failure undoes only this step. None: a failure of a join
            fails the whole element.
    """

    def __init__(self, flow: Flow, deferrals: Sequence[Deferral], isolated: Isolated | None = None) -> None:
        self._flow = flow
        self._deferrals = deferrals
        self._isolated = isolated

    def __call__(self, key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        self.pass_all(((key, value, timestamp),), ctx)

    def pass_all(self, elements: Iterable[tuple[Any, Any, int]], ctx: Context[Any]) -> None:
        """Forward the elements (key, value, timestamp) that were derived from one element. Joins get them together."""
        # Raise every depth before the first element is forwarded. A join must not run until the element has reached
        # all of its sides.
        marks = [deferral.mark() for deferral in self._deferrals]
        for deferral in self._deferrals:
            deferral.depth += 1
        try:
            for key, value, timestamp in elements:
                self._flow(key, value, timestamp, ctx)
            # In the order of the graph, because the result of one join may be a side of a later join, which is still
            # deferred.
            for deferral in self._deferrals:
                waited = deferral.leave()
                if waited and self._isolated is None:
                    deferral.join(waited)
                elif waited and self._isolated is not None:
                    self._isolated(partial(deferral.join, waited), ctx)
        except BaseException:
            for deferral, mark in zip(self._deferrals, marks, strict=True):
                # The task undoes only changes of its stores. Deferred elements that stayed in memory would be joined
                # with the next record.
                deferral.go_back(mark)
            raise


def undoing(deferrals: Collection[Deferral], step: Callable[P, None]) -> Callable[P, None]:
    """Return a step that, if it fails, removes its elements from the deferred joins."""

    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        # Only this step is undone. Elements that other steps of the record deferred remain.
        marks = [deferral.mark() for deferral in deferrals]
        try:
            step(*args, **kwargs)
        except BaseException:
            for deferral, mark in zip(deferrals, marks, strict=True):
                deferral.go_back(mark)
            raise

    return run


def pass_all(out: Flow, elements: Iterable[tuple[Any, Any, int]], ctx: Context[Any]) -> None:
    """Forward the elements (key, value, timestamp) that were derived from one element."""
    if isinstance(out, Branching):
        out.pass_all(elements, ctx)
        return
    for key, value, timestamp in elements:
        out(key, value, timestamp, ctx)


def deferred_nodes(
    nodes: Sequence[Node], children: Mapping[Node, Sequence[tuple[Node, int]]]
) -> dict[Node, tuple[Node, ...]]:
    """Return the joins to defer, in the order of the graph, by the node at which the paths to both sides diverge."""
    before: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        before[node] = frozenset((node,)).union(*(before.get(parent, (parent,)) for parent in node.parents))
    result: dict[Node, tuple[Node, ...]] = {}
    for node in nodes:
        if node.waits_for_sides:
            one, other = (before.get(side, frozenset((side,))) for side in (*node.parents, *node.looked_up))
            for parting in one & other:
                if parting.changes_rows_again or _parts(children.get(parting, ()), node, one, other):
                    result[parting] = (*result.get(parting, ()), node)
    return result


def joins_behind(
    nodes: Sequence[Node], children: Mapping[Node, Sequence[tuple[Node, int]]], joins: Collection[Node]
) -> dict[Node, frozenset[Node]]:
    """Return the joins that a node's elements reach, by node."""
    behind: dict[Node, frozenset[Node]] = {}
    for node in reversed(nodes):
        after = {child for child, _ in children.get(node, ())}
        behind[node] = frozenset(after.intersection(joins)).union(*(behind.get(child, ()) for child in after))
    return behind


def _parts(arrows: Sequence[tuple[Node, int]], join: Node, one: frozenset[Node], other: frozenset[Node]) -> bool:
    """Return whether an element reaches both sides of a join through different edges, in a harmful order."""
    to_one = [number for number, (child, side) in enumerate(arrows) if child in one or (child is join and side == 0)]
    to_other = [number for number, (child, side) in enumerate(arrows) if child in other or (child is join and side)]
    if join.looked_up:
        # A join of a stream with a table is correct if the table always changes first.
        return bool(to_one and to_other) and to_one[0] < to_other[-1]
    # A join of two tables is wrong in either order, because its change contains an old and a new joined row.
    return len({*to_one, *to_other}) > 1


def _one_by_one(made: Made) -> Callable[[Sequence[Element]], None]:
    def join(elements: Sequence[Element]) -> None:
        for side, key, value, timestamp, ctx in elements:
            made.flows[side](key, value, timestamp, ctx)

    return join
