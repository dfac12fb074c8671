"""The columns of rows that are written by place, recorded with them: other columns would misread them silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forebay.stores.binding import Store
from forebay.stores.table import Change, Table

PREFIX = b"\x01layout\0"


class DeclarationChanged(Exception):
    """A store's rows have other columns than those that are declared; the message names both and the remedy."""


class Layouts:
    """One row per store whose values are written by place: the names and types of their columns, a line each.

    It is written with the first change of the store. Rows without it were written by a release that recorded none, and
    count as written with the columns that are declared.

    Args:
        service: named in remedies.
        stores: of the task.
        has_changes: returns whether the store of a name changed in this commit.
    """

    def __init__(self, service: str, stores: Sequence[Store[Any]], has_changes: Callable[[str], bool]) -> None:
        self._service = service
        self._declared = {store.name: store.format.layout for store in stores if store.format.layout}
        self._has_changes = has_changes
        self._unwritten = dict.fromkeys(self._declared)

    def load(self, table: Table) -> None:
        """Compare what `table` records with what is declared. Raises DeclarationChanged."""
        self._unwritten.clear()
        for name, columns in self._declared.items():
            recorded = table.get(PREFIX + name.encode())
            if recorded is None:
                self._unwritten[name] = None
            elif recorded.decode() != "\n".join(columns):
                raise DeclarationChanged(
                    f"store {name} holds rows of {'; '.join(recorded.decode().splitlines())}, but is declared with "
                    f"{'; '.join(columns)}: they would be read as each other. Write the statement with its columns and "
                    f"aggregates as they were, in their order; or give its result another name, which begins without "
                    f"rows; or start over with `forebay reset {self._service}`"
                )

    def changes(self) -> Iterator[Change]:
        """Yield what this commit records."""
        for name in filter(self._has_changes, self._unwritten):
            yield PREFIX + name.encode(), "\n".join(self._declared[name]).encode()

    def settle(self) -> None:
        """Begin a commit: the changes so far are in the table. Call it before the stores' rows are settled."""
        if self._unwritten:
            for name in [*filter(self._has_changes, self._unwritten)]:
                del self._unwritten[name]
