"""The sizes of the stores in a table, counted while changes are applied."""

from __future__ import annotations

_INTERNAL = b"\x01"


class StoreSizes:
    """Numbers of rows and bytes of a table's stores, by the names that prefix their rows' keys."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[bytes, list[int]] = {}

    def add(self, key: bytes, rows: int, size: int) -> None:
        """Add numbers of rows and bytes, which may be negative, to the store to which `key` belongs."""
        _, held = self.held_by(key)
        held[0] += rows
        held[1] += size

    def held_by(self, key: bytes) -> tuple[bytes, list[int]]:
        """Return the prefix of the keys of a key's store, and the mutable list of its numbers of rows and bytes.

        A key that belongs to no store is counted with an empty name, and is its own prefix.
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
        """Reset all counts, for an empty table."""
        self._of.clear()

    def of_stores(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of rows and bytes by store, without the internal rows of stores."""
        return {
            name.decode(): (rows, size)
            for name, (rows, size) in self._of.items()
            if name and not name.startswith(_INTERNAL)
        }
