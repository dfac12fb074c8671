"""The results of operators, and the options that several operators have."""

from __future__ import annotations

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from forebay.stores.values import Stamped
from forebay.time.base import Window

R = TypeVar("R")


class Result(NamedTuple, Generic[R]):
    """An output record, with its timestamp in ms. A null value is a tombstone."""

    key: str | None
    value: R | None
    timestamp: int


class WindowResult(NamedTuple, Generic[R]):
    """An output record of a windowed aggregate, with its timestamp in ms. A null value is a tombstone."""

    key: str
    window: Window
    value: R | None
    timestamp: int


class Outcome(NamedTuple, Generic[R]):
    """The effects of one record on a windowed aggregate.

    Args:
        updates: Result of each window or session that it changed, preceded by tombstones of merged sessions.
        finals: Results that became final because the record advanced time.
        refused: Number of its windows that had closed before it arrived. If there are any, it goes to `.late` once.
        late_by_ms: Stream time in ms since the last refused window closed; 0 if none was refused.
        closes_at: Closing time (ms) at which the first window that it changed is final. None: it changed none, or the
            aggregate emits no final results.
        before: Row that each of `updates` replaces. None: there was none.
    """

    updates: tuple[WindowResult[R], ...] = ()
    finals: tuple[WindowResult[R], ...] = ()
    refused: int = 0
    late_by_ms: int = 0
    closes_at: int | None = None
    before: tuple[Stamped[R] | None, ...] = ()

    @property
    def results(self) -> tuple[WindowResult[R], ...]:
        """All results, in the order in which they are emitted."""
        return self.updates + self.finals


class Emission(Enum):
    """When a windowed aggregate emits results: at every change, once when a window closes, or both."""

    UPDATES = "updates"
    FINAL = "final"
    BOTH = "both"


class Join(Enum):
    """Which sides of a join emit a result for unmatched records."""

    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


class Alone(Enum):
    """When a join of two streams emits an unmatched record: when its window closes, or as soon as it arrives.

    With AT_ONCE, results with matches that arrive later may follow, as in Kafka Streams before 3.1.
    """

    AT_CLOSE = "at close"
    AT_ONCE = "at once"


class Tombstones(Enum):
    """Which deletions a foreign-key join emits: those of rows that it emitted, or those of all left rows.

    Kafka Streams emits those of all left rows.
    """

    OF_ROWS = "of rows"
    ALWAYS = "always"
