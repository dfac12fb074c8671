"""The results of operators, and the choices they share."""

from __future__ import annotations

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from forebay.time.base import Window

R = TypeVar("R")


class Result(NamedTuple, Generic[R]):
    """One output record; a null value is a tombstone. Timestamp in ms."""

    key: str | None
    value: R | None
    timestamp: int


class WindowResult(NamedTuple, Generic[R]):
    """One output record of a windowed aggregate; a null value is a tombstone. Timestamp in ms."""

    key: str
    window: Window
    value: R | None
    timestamp: int


class Outcome(NamedTuple, Generic[R]):
    """What one record did to a windowed aggregate.

    Args:
        updates: a result for each window (or session) it changed, tombstones of absorbed sessions first.
        finals: results that became final when the record moved time on.
        refused: windows that had closed before the record came; a record with any belongs into `.late`, once.
        late_by_ms: how long ago (stream time) the last refused window closed; 0 if none was refused.
        closes_at: closing time (ms) at which the first window it changed is final; None where no finals are given.
        before: the value each of `updates` replaces; None: there was none.
    """

    updates: tuple[WindowResult[R], ...] = ()
    finals: tuple[WindowResult[R], ...] = ()
    refused: int = 0
    late_by_ms: int = 0
    closes_at: int | None = None
    before: tuple[R | None, ...] = ()

    @property
    def results(self) -> tuple[WindowResult[R], ...]:
        """All results in the order they are sent."""
        return self.updates + self.finals


class Emission(Enum):
    """When a windowed aggregate gives results: on every change, once when a window closes, or both."""

    UPDATES = "updates"
    FINAL = "final"
    BOTH = "both"


class Join(Enum):
    """Which sides of a join give a result without a partner."""

    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


class Alone(Enum):
    """When a join of streams gives a record without a partner: once its window has closed, or as it comes.

    AT_ONCE may be followed by results with partners that come later, as in Kafka Streams before 3.1.
    """

    AT_CLOSE = "at close"
    AT_ONCE = "at once"


class Tombstones(Enum):
    """Which deletions a foreign-key join sends: of rows it gave, or of every left row, as Kafka Streams does."""

    OF_ROWS = "of rows"
    ALWAYS = "always"
