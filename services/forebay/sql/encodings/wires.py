"""Descriptions of a topic's encoding, with which a reader that declares other columns is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.sql.catalog import Named

_BY_NAME = frozenset({"JSON", "JSON_SR", "AVRO", "PROTOBUF"})


@dataclass(frozen=True, slots=True)
class Wire:
    """A format of rows and its columns.

    Args:
        kind: Name of the format.
        variant: Text that distinguishes formats of the same kind that can't read each other, such as the delimiter.
    """

    kind: str
    columns: tuple[Named, ...]
    variant: str = ""

    def takes(self, written: Any) -> bool:
        """Return whether a reader with this format finds its columns in data of the other format.

        In formats with names, columns are found by name. In other formats, they are found by position. A renamed column
        can then be read, but a column that has moved would be read as another column, so the result is False.
        """
        if not isinstance(written, Wire) or (written.kind, written.variant) != (self.kind, self.variant):
            return False
        if self.kind in _BY_NAME and not (len(self.columns) == 1 and self.variant == "bare"):
            return True
        places = {column.name: at for at, column in enumerate(written.columns)}
        stays = all(places.get(column.name, at) == at for at, column in enumerate(self.columns))
        types = [column.type for column in self.columns] == [column.type for column in written.columns]
        return stays and types


def takes_all(_written: Any) -> bool:
    """Return True for any format."""
    return True
