"""Nodes of a topology, their operators, and the lines of code that declared them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from forebay.formats import Format
from forebay.operators.table import TableView
from forebay.processor.api import Context, Reading, Timer
from forebay.stores.binding import Store

S = TypeVar("S", bound=Store[Any])
P = ParamSpec("P")
T = TypeVar("T")

Flow = Callable[[Any, Any, int, Context[Any]], None]
"""Receives one element: row text of the key (or None), value (of a table: its change), timestamp in ms, context."""

Partitioner = Callable[[Any, Any], int | None]
"""Returns the partition of a record from its key (row text) and value, or None for the default by the key's hash.

The result for a repartition is taken modulo the number of tasks.
"""


class Spreading(NamedTuple):
    """How the records of a repartition are partitioned, if not by the hash of the key.

    Args:
        numbers: Function that returns the number from which the partition is computed.
        words: Name of this partitioning. Streams with different partitionings can't be joined.
        how: How the numbers are computed. Stores record it, because it determines the tasks of their rows.
    """

    numbers: Partitioner
    words: str
    how: str


_OURS = tuple(str(Path(__file__).parents[1] / name) for name in ("builder", "interactive", "stateful", "testing"))


class Kind(Enum):
    """The kind of a node."""

    SOURCE = "source"
    STEP = "step"
    REPARTITION = "repartition"
    SINK = "sink"


class History(Enum):
    """How a node handles changes that are older than the latest change of their key."""

    IGNORES = "ignores"
    PASSES = "passes"
    KEEPS = "keeps"


@dataclass(frozen=True, slots=True)
class Made:
    """A node's operator on a task's stores.

    Args:
        flows: Flow for the elements of each parent.
        timer: Name of its timer, or prefix of the names of a processor's timers; "" if it uses none.
        on_timer: Function that is called when its timer fires.
        on_wall_clock: Function that is called every `Node.wall_clock_ms`.
        join_all: For a join of tables, the function that is called with all changes of both sides that were caused by
            one element (see deferral.py).
    """

    flows: tuple[Flow, ...]
    timer: str = ""
    on_timer: Callable[[Timer, Context[Any]], None] | None = None
    on_wall_clock: Callable[[int, Context[Any]], None] | None = None
    join_all: Callable[[Sequence[Any]], None] | None = None


class Bound(Protocol):
    """The access of operators to their task."""

    def store(self, declared: S) -> S:
        """Return the task's store for a declaration."""
        ...

    def view(self, node: Node) -> TableView[Any]:
        """Return the view in which the rows of a node's table are looked up."""
        ...

    def is_followed(self, node: Node) -> bool:
        """Return whether another node receives the elements of a node."""
        ...

    def sends_history(self, node: Node) -> bool:
        """Return whether a node after this table uses changes that are older than the latest change of their key."""
        ...

    def sends_old(self, node: Node) -> bool:
        """Return whether a node after this table needs old values."""
        ...

    def former(self, compute: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T | None:
        """Return a value that is computed from a stored row, or None if its computation fails in an added statement."""
        ...

    def strictly(self, compute: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """Return a value that is computed from stored rows, of which none may fail."""
        ...

    def after_record(self, out: Flow, timer: Timer, action: Callable[[Context[Any]], None], ctx: Context[Any]) -> bool:
        """Defer an action that passes elements to `out` until after the record. Return False if it can run now."""
        ...

    def apart(self, timer: Timer, step: Callable[[Context[Any]], None], ctx: Context[Any]) -> None:
        """Run a step as if the timer fired now. If it fails, only the step is undone and reported."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of the graph of a topology.

    Args:
        name: Topic of a source, name of a repartition, or label of a step or sink.
        key, value: Formats of its results; if it is a table, of its rows.
        parents: Nodes from which it receives elements.
        looked_up: Nodes whose tables it looks up. They must be in the same sub-topology.
        stores: Stores that it declares.
        make: Function that creates its operator, which passes its results to a flow.
        view: Function that returns the view in which the rows of its table are looked up.
        asks_old: Whether it needs the old values of the table before it.
        history: How it handles changes that are older than the latest change of their key.
        waits_for_sides, changes_rows_again: See deferral.py.
        gives_rows: Whether its results are rows of a table. A row then replaces earlier rows of the same key.
        topics: Topics of a source or sink. For a source with a pattern, the topics that match, once they are known.
        pattern: Pattern that the whole names of a source's topics match.
        choose: Function that returns the topic of a record, for a sink with several topics.
        is_global: Whether every task has all of its rows.
        isolates: Whether the failure of one child does not affect its other children.
        horizon_ms: How far stream time must advance until it has emitted everything that it holds, in ms.
        partitioner: Partitioner of a repartition or sink. None: by the hash of the key.
        wall_clock_ms: Interval of wall-clock punctuation, in ms. 0: none.
        windows: Windows by which it aggregates. None: it does not aggregate by window.
        key_parents: Parents whose rows together have the keys of its table's rows. Empty: the first parent.
        filled: Names of the stores that must get all rows of the table before it (see filling.py).
        fills_topic: Whether a topic gets these rows. `filled` is then the name of the query that writes it.
        looks_up_rows: Whether these stores only need the table's changes, because the node looks its rows up.
        where: File and line that created it.
    """

    kind: Kind
    name: str
    key: Format[Any]
    value: Format[Any]
    parents: tuple[Node, ...] = ()
    looked_up: tuple[Node, ...] = ()
    stores: tuple[Store[Any], ...] = ()
    make: Callable[[Bound, Flow], Made] | None = None
    view: Callable[[Bound], TableView[Any]] | None = None
    asks_old: bool = True
    waits_for_sides: bool = False
    changes_rows_again: bool = False
    gives_rows: bool = False
    history: History = History.IGNORES
    topics: tuple[str, ...] = ()
    pattern: str = ""
    choose: Callable[[Any, Any], str] | None = None
    reading: Reading[Any] | None = None
    is_table: bool = False
    is_nullable: bool = False
    is_global: bool = False
    isolates: bool = False
    horizon_ms: int = 0
    partitioner: Partitioner | None = None
    wall_clock_ms: int = 0
    windows: Any = None
    key_parents: tuple[Node, ...] = ()
    filled: list[str] = field(default_factory=list)
    fills_topic: bool = False
    looks_up_rows: bool = False
    where: str = ""


class TopologyError(ValueError):
    """The topology can't run. The message names the line that declared the operator, and what to change."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where or line_of_caller()}: {message}")


def line_of_caller() -> str:
    """Return file and line of the innermost frame outside of the packages that build or run topologies."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith((*_OURS, "<string>")) or "dataclasses" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
