"""The columns of rows that are written by place, recorded with them: other columns would misread them silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forebay.codec import DecodeError, Unavailable
from forebay.stores.binding import Store
from forebay.stores.table import Change, Table

PREFIX = b"\x01layout\0"


class DeclarationChanged(Exception):
    """A store's rows have other columns than those that are declared; the message names both and the remedy."""


class Layouts:
    """One row per store whose values are written by place: the names and types of their columns, a line each.

    It is written with the first change of the store. Rows without it were written by a release that recorded none.
    They count as written with the columns that are declared, unless the first of them can't be.

    Args:
        service: named in remedies.
        stores: of the task.
        has_changes: returns whether the store of a name changed in this commit.
        decode_first: decodes the first rows of the store of a name. It raises DecodeError, Unavailable.
    """

    def __init__(
        self,
        service: str,
        stores: Sequence[Store[Any]],
        has_changes: Callable[[str], bool],
        decode_first: Callable[[str], None],
    ) -> None:
        self._service, self._decode_first = service, decode_first
        self._declared = {store.name: store.format.layout for store in stores if store.format.layout}
        self._has_changes = has_changes
        self._unwritten = dict.fromkeys(self._declared)

    def load(self, table: Table) -> None:
        """Compare what `table` records with what is declared. Raises DeclarationChanged."""
        self._unwritten.clear()
        for name, columns in self._declared.items():
            recorded = table.get(PREFIX + name.encode())
            if recorded is None:
                self._check_rows(name, columns)
                self._unwritten[name] = None
            elif recorded.decode() != "\n".join(columns):
                raise DeclarationChanged(
                    f"store {name} holds rows of {'; '.join(recorded.decode().splitlines())}, "
                    f"but is declared with {'; '.join(columns)}: the job would misread them. "
                    "Write the statement with its columns and aggregates as they were, in "
                    f"their order; {self._other_remedies()}"
                )

    def _check_rows(self, name: str, columns: Sequence[str]) -> None:
        """Decode the first rows of a store, so that rows with other columns stop the start and not each record."""
        try:
            self._decode_first(name)
        except DecodeError as error:
            raise DeclarationChanged(
                f"store {name} holds rows of an earlier release, but they do not have the declared columns "
                f"{'; '.join(columns)}: {error}. If a declaration leaves the columns of its topic out, this release "
                "may find more of them in the schema, such as a DECIMAL of PROTOBUF: write the columns out as they "
                f"were; {self._other_remedies()}"
            ) from error
        except Unavailable:
            # What the rows need is away, such as a schema registry. The records that read them wait for it.
            return

    def _other_remedies(self) -> str:
        return (
            "or give its result another name, which begins without rows; or start over with "
            f"`forebay reset {self._service}`"
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
