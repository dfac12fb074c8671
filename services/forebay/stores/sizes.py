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
        name = key.partition(b"\0")[0]
        held = self._of.get(name)
        if held is None:
            held = self._of[name] = [0, 0]
        held[0] += rows
        held[1] += size

    def clear(self) -> None:
        """Begin with an empty table."""
        self._of.clear()

    def of_stores(self) -> dict[str, tuple[int, int]]:
        """Return rows and bytes by store; what stores keep beside their rows is left out."""
        return {
            name.decode(): (rows, size) for name, (rows, size) in self._of.items() if not name.startswith(_INTERNAL)
        }
