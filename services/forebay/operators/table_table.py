"""Joins of two tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Join, Result
from forebay.operators.table import Change, TableView
from forebay.stores.values import Stamped

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741

Joiner = Callable[[L | None, R | None], O]


class TableTableJoin(Generic[L, R, O]):
    """A join of two tables that emits a change whenever either table changes.

    The timestamp of a result is the larger one of both sides.

    Args:
        left, right: Views in which the other side is looked up. `on_left` and `on_right` process their changes.
        joiner: Function of both values. In a left or outer join, one of them may be None.
        former: The joiner of former rows. It returns None for a row that was never forwarded. None: `joiner`.
    """

    def __init__(
        self,
        left: TableView[L],
        right: TableView[R],
        kind: Join,
        joiner: Joiner[L, R, O],
        former: Joiner[L, R, O | None] | None = None,
    ) -> None:
        self._left = left
        self._right = right
        self._kind = kind
        self._joiner = joiner
        self._former: Joiner[L, R, O | None] = former or joiner

    def on_left(self, change: Change[L] | None) -> Change[O] | None:
        """Join a change of the left table. Return the change of the result, or None if it does not change."""
        if change is None:
            return None
        other = self._right.get(change.key)
        alone = self._kind is not Join.INNER
        return self._follow(change, other, alone, self._kind is Join.OUTER, self._joiner, self._former)

    def on_right(self, change: Change[R] | None) -> Change[O] | None:
        """Join a change of the right table. Return the change of the result, or None if it does not change."""
        if change is None:
            return None
        other = self._left.get(change.key)
        alone = self._kind is Join.OUTER
        return self._follow(
            change,
            other,
            alone,
            self._kind is not Join.INNER,
            lambda mine, others: self._joiner(others, mine),
            lambda mine, others: self._former(others, mine),
        )

    def on_both(self, left: Change[L] | None, right: Change[R] | None) -> Change[O] | None:
        """Join the changes of one or both tables that were caused by one record.

        Return the change of the result, or None if it does not change. Its old value is the joined row before the
        record on both sides, its new value the one after it.
        """
        # If only one side changed, the other side's current row is also its old one.
        if left is None or right is None:
            return self.on_right(right) if left is None else self.on_left(left)
        new = joined_value(self._kind, self._joiner, left.new, right.new)
        old = joined_value(self._kind, self._former, left.old, right.old)
        if new is None and old is None:
            return None
        before = [at for at in (left.old_timestamp, right.old_timestamp) if at is not None]
        at = max(left.timestamp, right.timestamp)
        return Change(left.key, new, old, at, old_timestamp=max(before) if before and old is not None else None)

    def _follow(
        self,
        change: Change[L] | Change[R],
        other: Stamped[R] | Stamped[L] | None,
        alone: bool,
        other_alone: bool,
        joiner: Callable[..., O],
        former: Callable[..., O | None],
    ) -> Change[O] | None:
        """Return the change of the result.

        Args:
            alone: Whether the changed side has a result without the other side.
            other_alone: Whether the other side has a result without the changed side.
        """
        if other is None:
            if not alone or (change.new is None and change.old is None):
                return None
            new = None if change.new is None else joiner(change.new, None)
            old = None if change.old is None else former(change.old, None)
            return change.with_values(new, old)
        new = joiner(change.new, other.value) if other_alone or change.new is not None else None
        old = former(change.old, other.value) if other_alone or change.old is not None else None
        before = None
        if old is not None:
            before = other.timestamp if change.old_timestamp is None else max(change.old_timestamp, other.timestamp)
        return Change(change.key, new, old, max(change.timestamp, other.timestamp), old_timestamp=before)


class JoinedTable(Generic[L, R, O]):
    """A view of a joined table. Its rows are computed when they are looked up."""

    def __init__(self, left: TableView[L], right: TableView[R], kind: Join, joiner: Joiner[L, R, O]) -> None:
        self._left = left
        self._right = right
        self._kind = kind
        self._joiner = joiner

    def get(self, key: str) -> Stamped[O] | None:
        """Return the joined value of `key` and the larger of both timestamps, or None."""
        left, right = self._left.get(key), self._right.get(key)
        value = joined_value(
            self._kind, self._joiner, None if left is None else left.value, None if right is None else right.value
        )
        if value is None:
            return None
        return Stamped(value, max(side.timestamp for side in (left, right) if side is not None))


def joined_value(kind: Join, joiner: Joiner[L, R, O], left: L | None, right: R | None) -> O | None:
    """Return the result of joining a left and a right row (None: no row), or None if there is no result."""
    if left is None and (right is None or kind is not Join.OUTER):
        return None
    return None if right is None and kind is Join.INNER else joiner(left, right)


def result_of(change: Change[O] | None) -> list[Result[O]]:
    """Return a change as output records: one, or none if there is no change."""
    return [] if change is None else [Result(change.key, change.new, change.timestamp)]
