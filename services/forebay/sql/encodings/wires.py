"""What a topic's bytes are, as far as a reader that declares other columns has to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.sql.catalog import Named

_BY_NAME = frozenset({"JSON", "JSON_SR", "AVRO", "PROTOBUF"})


@dataclass(frozen=True, slots=True)
class Wire:
    """A format of rows and its columns.

    Args:
        kind: name of the format.
        variant: of two formats of one kind that can't read each other (another delimiter).
    """

    kind: str
    columns: tuple[Named, ...]
    variant: str = ""

    def takes(self, written: Any) -> bool:
        """Return whether columns that are read like this are found in what was written.

        Formats with names find each column by its name. In the others a column's place counts: a renamed column is
        read, a column that changed its place would be read as another one, so that is refused.
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
    """Ignore the bytes."""
    return True
