"""The cache of a store's decoded rows, which keeps approximately those that were used last."""

from __future__ import annotations

from itertools import islice
from typing import TypeVar

V = TypeVar("V")

_FEW = 5_000
_OF_USE = 0.02
"""Hit rate below which a generation of more than _FEW rows is dropped."""


class Generations:
    """A division of cached rows into a young and an older generation.

    A row that is used moves to the young generation. When this is full, it becomes the older generation, and the rows
    of the previous older generation, which were not used in the meantime, are dropped. This approximates a
    least-recently-used order without the cost of maintaining that order at each get. Generations grow only while they
    have hits, so that a store whose rows are rarely read again does not fill the memory with objects.

    Args:
        most: Maximum number of rows.
    """

    __slots__ = ("_gets_before", "_largest", "_loads_before", "_most_older", "_size")

    def __init__(self, most: int) -> None:
        # The young generation has at most a third of the rows, so the older one may have the rest.
        self._largest = most // 3
        self._most_older = most - self._largest
        self._size = min(_FEW, self._largest)
        self._gets_before = self._loads_before = 0

    def next(
        self, young: dict[bytes, V], older: dict[bytes, V], gets: int, loads: int
    ) -> tuple[dict[bytes, V], dict[bytes, V]]:
        """Return the young and the older generation for the next commit.

        Args:
            gets: Number of reads by key so far.
            loads: Number of those that read the table.
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
