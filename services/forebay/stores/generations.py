"""Which decoded rows a store keeps from commit to commit: about those that were used last."""

from __future__ import annotations

from itertools import islice
from typing import TypeVar

V = TypeVar("V")

_FEW = 5_000
_OF_USE = 0.02
"""A generation of more than a few rows is kept only if this share of the gets was answered without the table."""


class Generations:
    """Divides decoded rows by age into a young generation and an older one.

    A row that is used moves to the young generation. Once that is full it becomes the older one, and the rows of the
    older one, which were not used meanwhile, are dropped. This is nearly a least-recently-used order, without the cost
    of keeping such an order at each get. Generations grow while they are of use, so that a store whose rows seldom
    return does not fill the memory with objects.

    Args:
        most: rows to keep at most.
    """

    __slots__ = ("_gets_before", "_largest", "_loads_before", "_most_older", "_size")

    def __init__(self, most: int) -> None:
        # Until it is full, a young generation takes a third, so the older one may take the rest.
        self._largest = most // 3
        self._most_older = most - self._largest
        self._size = min(_FEW, self._largest)
        self._gets_before = self._loads_before = 0

    def next(
        self, young: dict[bytes, V], older: dict[bytes, V], gets: int, loads: int
    ) -> tuple[dict[bytes, V], dict[bytes, V]]:
        """Return the two generations that the next commit begins with.

        Args:
            gets: reads by key so far.
            loads: how many of them read the table.
        """
        if len(young) <= self._size:
            return young, older
        gets_since, loads_since = gets - self._gets_before, loads - self._loads_before
        self._gets_before, self._loads_before = gets, loads
        if len(young) > _FEW and gets_since - loads_since <= _OF_USE * gets_since:
            self._size = min(_FEW, self._largest)
            return {}, {}
        self._size = min(2 * self._size, self._largest)
        excess = len(young) - self._most_older
        return {}, dict(islice(young.items(), excess, None)) if excess > 0 else young
