"""Joins of two tables: a table that follows both."""

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
    """Gives a result whenever either table changes; timestamps are the larger of both sides'.

    Args:
        left, right: where the other side is looked up; their changes come in through `on_left`, `on_right`.
        joiner: called with both values; one of them is None where the join's kind allows it.
    """

    def __init__(self, left: TableView[L], right: TableView[R], kind: Join, joiner: Joiner[L, R, O]) -> None:
        self._left = left
        self._right = right
        self._kind = kind
        self._joiner = joiner

    def on_left(self, change: Change[L] | None) -> Change[O] | None:
        """Follow a change of the left table; None: nothing to send."""
        if change is None:
            return None
        other = self._right.get(change.key)
        alone = self._kind is not Join.INNER
        return self._follow(change, other, alone, self._kind is Join.OUTER, self._joiner)

    def on_right(self, change: Change[R] | None) -> Change[O] | None:
        """Follow a change of the right table; None: nothing to send."""
        if change is None:
            return None
        other = self._left.get(change.key)
        alone = self._kind is Join.OUTER
        return self._follow(
            change, other, alone, self._kind is not Join.INNER, lambda mine, others: self._joiner(others, mine)
        )

    def on_both(self, left: Change[L] | None, right: Change[R] | None) -> Change[O] | None:
        """Follow what one record did to either or both tables; None: nothing to send.

        The old value is the row as it was before the record on both sides, the new one as it is after it.
        """
        # Only one side changed, so the other one is as it was.
        if left is None or right is None:
            return self.on_right(right) if left is None else self.on_left(left)
        new = joined_value(self._kind, self._joiner, left.new, right.new)
        old = joined_value(self._kind, self._joiner, left.old, right.old)
        if new is None and old is None:
            return None
        return Change(left.key, new, old, max(left.timestamp, right.timestamp))

    def _follow(
        self,
        change: Change[L] | Change[R],
        other: Stamped[R] | Stamped[L] | None,
        alone: bool,
        other_alone: bool,
        joiner: Callable[..., O],
    ) -> Change[O] | None:
        """Return the joined change.

        Args:
            alone: whether the changed side gives a result without the other; other_alone: the reverse.
        """
        if other is None:
            if not alone or (change.new is None and change.old is None):
                return None
            new = None if change.new is None else joiner(change.new, None)
            old = None if change.old is None else joiner(change.old, None)
            return Change(change.key, new, old, change.timestamp)
        new = joiner(change.new, other.value) if other_alone or change.new is not None else None
        old = joiner(change.old, other.value) if other_alone or change.old is not None else None
        return Change(change.key, new, old, max(change.timestamp, other.timestamp))


class JoinedTable(Generic[L, R, O]):
    """The joined table as the side of a further join: rows computed when looked up, none stored."""

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
    """Return the joined row of a left and a right row (None: there is none), or None if the join has none."""
    if left is None and (right is None or kind is not Join.OUTER):
        return None
    return None if right is None and kind is Join.INNER else joiner(left, right)


def result_of(change: Change[O] | None) -> list[Result[O]]:
    """Return a change as the record to send."""
    return [] if change is None else [Result(change.key, change.new, change.timestamp)]
