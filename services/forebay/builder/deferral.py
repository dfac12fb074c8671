"""Joins whose sides can change by one element: they join once the element has reached both sides.

An element that a node passes on reaches its children one after the other. If two ways lead to a join, the first side
would be joined with the other side as it happens to be at that moment: with its own store not yet updated, or, if its
rows are computed from a store that both sides share, already changed. The change that the join emits would then begin
or end with a row that never existed, and an aggregate downstream that subtracts old values would stay wrong.

A node says `waits_for_sides` if it is such a join, with a table on one side or both. It says `changes_rows_again` if
one element may change a row of its table twice: its store has the last row when the first change is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, ParamSpec

from forebay.builder.nodes import Flow, Made, Node
from forebay.processor.api import Context

P = ParamSpec("P")
Isolated = Callable[[Callable[[], None], Context[Any]], None]
"""Runs a step of a record so that its failure undoes the step alone."""


class Element(NamedTuple):
    """An element that reached a node: key, value (of a table: its change), timestamp in ms."""

    side: int
    key: Any
    value: Any
    timestamp: int
    ctx: Context[Any]


class Deferral:
    """Keeps what reaches one join until no branching before it is passing an element on.

    Args:
        made: the join's operator.
    """

    __slots__ = ("_elements", "_join", "depth")

    def __init__(self, made: Made) -> None:
        self._join = made.join_all or _one_by_one(made)
        self._elements: list[Element] = []
        self.depth = 0
        """Number of branchings before the join that are passing an element on."""

    def flow(self, side: int) -> Flow:
        """Return what takes the elements of a side."""

        def take(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            element = Element(side, key, value, timestamp, ctx)
            if self.depth:
                self._elements.append(element)
            else:
                self._join((element,))

        return take

    def leave(self) -> Sequence[Element]:
        """Count a branching that has passed its element on; return what is to be joined now: nothing if others wait."""
        self.depth -= 1
        if self.depth:
            return ()
        elements, self._elements = self._elements, []
        return elements

    def join(self, elements: Sequence[Element]) -> None:
        """Join elements that waited."""
        self._join(elements)

    def mark(self) -> tuple[int, int]:
        """Return what `go_back` takes: the depth, and how many elements wait."""
        return self.depth, len(self._elements)

    def go_back(self, mark: tuple[int, int]) -> None:
        """Drop the elements of a step that failed."""
        self.depth, count = mark
        del self._elements[count:]


class Branching:
    """A flow that has joins wait while it passes elements on.

    Args:
        deferrals: of the joins, in the order of the graph: one may be a side of a later one.
        isolated: runs a join's step so that its failure undoes the step alone; None: it fails the whole element.
    """

    def __init__(self, flow: Flow, deferrals: Sequence[Deferral], isolated: Isolated | None = None) -> None:
        self._flow = flow
        self._deferrals = deferrals
        self._isolated = isolated

    def __call__(self, key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        self.pass_all(((key, value, timestamp),), ctx)

    def pass_all(self, elements: Iterable[tuple[Any, Any, int]], ctx: Context[Any]) -> None:
        """Pass on the elements (key, value, timestamp) derived from one element: joins receive them together."""
        # Raise every depth before the first element is passed on. A join must not run while one of its sides is still
        # to be reached.
        marks = [deferral.mark() for deferral in self._deferrals]
        for deferral in self._deferrals:
            deferral.depth += 1
        try:
            for key, value, timestamp in elements:
                self._flow(key, value, timestamp, ctx)
            # In the order of the graph, because the result of one join may be the side of a later join, which is still
            # waiting.
            for deferral in self._deferrals:
                waited = deferral.leave()
                if waited and self._isolated is None:
                    deferral.join(waited)
                elif waited and self._isolated is not None:
                    self._isolated(partial(deferral.join, waited), ctx)
        except BaseException:
            for deferral, mark in zip(self._deferrals, marks, strict=True):
                # The task undoes only what is in its stores. Elements that wait in memory would join on behalf of the
                # next record.
                deferral.go_back(mark)
            raise


def undoing(deferrals: Collection[Deferral], step: Callable[P, None]) -> Callable[P, None]:
    """Return a step that takes its elements back from the joins if it fails."""

    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        # A step that fails alone: what other steps of the record have deferred stays.
        marks = [deferral.mark() for deferral in deferrals]
        try:
            step(*args, **kwargs)
        except BaseException:
            for deferral, mark in zip(deferrals, marks, strict=True):
                deferral.go_back(mark)
            raise

    return run


def pass_all(out: Flow, elements: Iterable[tuple[Any, Any, int]], ctx: Context[Any]) -> None:
    """Pass on what one element became: keys, values, timestamps."""
    if isinstance(out, Branching):
        out.pass_all(elements, ctx)
        return
    for key, value, timestamp in elements:
        out(key, value, timestamp, ctx)


def deferred_nodes(
    nodes: Sequence[Node], children: Mapping[Node, Sequence[tuple[Node, int]]]
) -> dict[Node, tuple[Node, ...]]:
    """Return the joins that have to wait, in the order of the graph, by the nodes at which ways to both sides part."""
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
    """Return, for each node, those of the joins that its elements come to."""
    behind: dict[Node, frozenset[Node]] = {}
    for node in reversed(nodes):
        after = {child for child, _ in children.get(node, ())}
        behind[node] = frozenset(after.intersection(joins)).union(*(behind.get(child, ()) for child in after))
    return behind


def _parts(arrows: Sequence[tuple[Node, int]], join: Node, one: frozenset[Node], other: frozenset[Node]) -> bool:
    """Return whether an element reaches the sides of a join through more than one of the arrows, in a harmful order."""
    to_one = [number for number, (child, side) in enumerate(arrows) if child in one or (child is join and side == 0)]
    to_other = [number for number, (child, side) in enumerate(arrows) if child in other or (child is join and side)]
    if join.looked_up:
        # In a join of a stream with a table, nothing is wrong if the table always changes first.
        return bool(to_one and to_other) and to_one[0] < to_other[-1]
    # Two tables are wrong in either order, because the change carries an old and a new joined row.
    return len({*to_one, *to_other}) > 1


def _one_by_one(made: Made) -> Callable[[Sequence[Element]], None]:
    def join(elements: Sequence[Element]) -> None:
        for side, key, value, timestamp, ctx in elements:
            made.flows[side](key, value, timestamp, ctx)

    return join
