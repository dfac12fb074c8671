"""What a topology consists of: nodes, what makes each one's operator, and the line of code it is from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from forebay.formats import Format
from forebay.operators.table import TableView
from forebay.processor.api import Context, Reading, Timer
from forebay.stores.binding import Store

S = TypeVar("S", bound=Store[Any])

Flow = Callable[[Any, Any, int, Context[Any]], None]
"""Takes one element: row text of the key (or None), value (of a table: its change), timestamp in ms."""

Partitioner = Callable[[Any, Any], int | None]
"""Gives the partition of a record's key (row text) and value, None: by its hash; of a repartition modulo the tasks."""


class Spreading(NamedTuple):
    """How a repartition's records are spread where it is not by the hash of the key.

    Args:
        numbers: gives the number that a record's partition is made of.
        words: name the way: streams that are spread in different ways can't be joined.
    """

    numbers: Partitioner
    words: str


_OURS = tuple(str(Path(__file__).parents[1] / name) for name in ("builder", "interactive", "stateful", "testing"))


class Kind(Enum):
    """What a node is."""

    SOURCE = "source"
    STEP = "step"
    REPARTITION = "repartition"
    SINK = "sink"


class History(Enum):
    """What a node does with changes that are not the latest of their key."""

    IGNORES = "ignores"
    PASSES = "passes"
    KEEPS = "keeps"


@dataclass(frozen=True, slots=True)
class Made:
    """A node's operator on a task's stores.

    Args:
        flows: one per parent.
        timer: name of the timer it uses, if it uses one; a processor's timers begin with it.
        on_wall_clock: called every `Node.wall_clock_ms`.
        join_all: for a join of tables: called with all changes that one element caused on its sides (see deferral.py).
    """

    flows: tuple[Flow, ...]
    timer: str = ""
    on_timer: Callable[[Timer, Context[Any]], None] | None = None
    on_wall_clock: Callable[[int, Context[Any]], None] | None = None
    join_all: Callable[[Sequence[Any]], None] | None = None


class Bound(Protocol):
    """A task's side of the topology, while operators are made."""

    def store(self, declared: S) -> S:
        """Return the task's store of that declaration."""
        ...

    def view(self, node: Node) -> TableView[Any]:
        """Return where the rows of a node's table are looked up."""
        ...

    def is_followed(self, node: Node) -> bool:
        """Return whether a node's elements go anywhere."""
        ...

    def sends_history(self, node: Node) -> bool:
        """Return whether changes that are not the latest of their key are wanted behind a table's node."""
        ...

    def sends_old(self, node: Node) -> bool:
        """Return whether a node after this table asks for old values."""
        ...

    def after_record(self, out: Flow, timer: Timer, action: Callable[[Context[Any]], None], ctx: Context[Any]) -> bool:
        """Have an action that passes elements to `out` follow the record; return False if it can be done now."""
        ...

    def apart(self, timer: Timer, step: Callable[[Context[Any]], None], ctx: Context[Any]) -> None:
        """Run a step as if that timer fired now: if it fails, it is undone and reported alone."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node.

    Args:
        name: topic of a source, name of a repartition, label of a step or sink.
        key, value: formats of what it gives; of a table: of its rows.
        parents: nodes it gets elements from.
        looked_up: nodes whose tables it looks up: they must run where it runs.
        stores: those it declares.
        make: makes its operator; its results go to the flow it is given.
        view: gives where its table's rows are looked up.
        asks_old: whether it needs the old values of the table before it.
        history: what it does with changes that are not the latest of their key.
        waits_for_sides, changes_rows_again: see deferral.py.
        gives_rows: whether its results are rows of a table, so that the last row of a key replaces those before.
        topics: of a source or a sink; of a source with a pattern: those that match, once they are known.
        pattern: of a source: what the names of its topics match as a whole.
        choose: of a sink to several topics: gives the topic of a record.
        is_global: whether every task has it whole; isolates: whether each node behind it fails alone.
        horizon_ms: how far past stream time it must be taken for all it holds to be given, in ms.
        partitioner: of a repartition or sink; None: the hash of the key.
        wall_clock_ms: how often its processor is called by the wall clock, in ms; 0: never.
        where: file and line that made it.
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
    where: str = ""


class TopologyError(ValueError):
    """A topology that can't run; the message names the line that made it and the remedy."""

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
