"""Declaration of columns that contain a record's headers."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.sql.catalog import HEADERS, Header
from forebay.sql.errors import SqlError
from forebay.sql.syntax import ColumnDef
from forebay.sql.types import BYTES


def header_of(column: ColumnDef, earlier: Sequence[Header]) -> Header:
    """Return a column of headers. Raises SqlError."""
    held = BYTES if column.header else HEADERS
    if column.type != held:
        raise SqlError(column.place, f"the column {column.name} {column.type} is of headers: write {held} for its type")
    for other in earlier:
        if other.name in ("", column.header):
            raise SqlError(
                column.place, f"the column {other.column} already has what {column.name} would hold: leave one out"
            )
    return Header(column.name, column.header)
