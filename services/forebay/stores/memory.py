"""A task's table in memory."""

from __future__ import annotations

from collections.abc import Iterable

from forebay.stores.ordered import ordered_rows
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import NO_TAG, Change


class MemoryTable:
    """An ordered table in the worker's memory (implements `Table`)."""

    def __init__(self) -> None:
        self._rows = ordered_rows()
        self._tag = NO_TAG
        self._sizes = StoreSizes()
        self.get = self._rows.get
        self.scan = self._rows.scan
        self.scan_reverse = self._rows.scan_reverse

    @property
    def tag(self) -> bytes:
        return self._tag

    @property
    def size_bytes(self) -> int:
        return self._sizes.total

    @property
    def footprint_bytes(self) -> int:
        return self._sizes.total + self._rows.row_bytes * len(self._rows)

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        return self._sizes.of_stores()

    def __len__(self) -> int:
        return len(self._rows)

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        self._rows.apply(changes, self._sizes.held_by)
        self._tag = tag

    def clear(self) -> None:
        self._rows.clear()
        self._sizes.clear()
        self._tag = NO_TAG

    def close(self) -> None:
        self.clear()
