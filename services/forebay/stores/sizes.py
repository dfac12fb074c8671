"""What each store takes of a table, counted while rows are applied."""

from __future__ import annotations

_INTERNAL = b"\x01"


class StoreSizes:
    """Rows and bytes of a table's stores, by the names before their rows."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[bytes, list[int]] = {}

    def add(self, key: bytes, rows: int, size: int) -> None:
        """Count rows that came (or went) and bytes of the store that `key` belongs to."""
        _, held = self.held_by(key)
        held[0] += rows
        held[1] += size

    def held_by(self, key: bytes) -> tuple[bytes, list[int]]:
        """Return what the keys of the same store begin with, and its rows and bytes, to count in.

        A key of no store is counted under no name, and begins like itself.
        """
        name, separator, _ = key.partition(b"\0")
        prefix = name + separator
        name = name if separator else b""
        held = self._of.get(name)
        if held is None:
            held = self._of[name] = [0, 0]
        return prefix, held

    @property
    def total(self) -> int:
        """Bytes of all rows."""
        return sum(size for _, size in self._of.values())

    def clear(self) -> None:
        """Begin with an empty table."""
        self._of.clear()

    def of_stores(self) -> dict[str, tuple[int, int]]:
        """Return rows and bytes by store, without the internal rows of stores."""
        return {
            name.decode(): (rows, size)
            for name, (rows, size) in self._of.items()
            if name and not name.startswith(_INTERNAL)
        }
