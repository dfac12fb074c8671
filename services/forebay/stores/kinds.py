"""The store formats that wrote a task's rows, recorded with the rows: another format would misread them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from forebay.codec import Codec
from forebay.stores.binding import RowValue, Store, TaskStores
from forebay.stores.internal import KINDS
from forebay.stores.layouts import DeclarationChanged, KeyFormatOf, Layouts, key_formats_of
from forebay.stores.rows import Rows
from forebay.stores.table import Change, Table
from forebay.stores.upgrade import Conversion, Way, convert, describe_store, row_value_of, way_to

PREFIX = KINDS


class OnChange(Enum):
    """What to do with a store's rows if its declared format has changed."""

    REFUSE = "refuse"
    CONVERT = "convert"


class KindChanged(DeclarationChanged):
    """A store declares another format than its rows were written in; the message names both and the remedy."""


def recorded_kind(table: Table, store: str) -> str:
    """Return the declaration that wrote a store's rows; "" if none is recorded."""
    return (table.get(PREFIX + store.encode()) or b"").decode()


def recorded_formats(table: Table, stores: Iterable[str]) -> dict[str, RowValue]:
    """Return what the rows of each store consist of; nothing for stores whose declaration is not recorded."""
    kinds = {store: recorded_kind(table, store) for store in stores}
    return {store: row_value_of(recorded) for store, recorded in kinds.items() if recorded}


class Kinds:
    """One row per store of a task, under PREFIX and the store's name: the kind, and the settings that matter.

    It is written with the first change of the store. Rows without it were written by a release that kept none,
    and count as written by the store that is declared.

    Args:
        service: named in remedies.
        stores: bound to the task's rows.
        codecs: by store.
        key_format_of: returns the formats of keys.
    """

    def __init__(
        self,
        service: str,
        stores: Sequence[Store[Any]],
        lent: TaskStores,
        codecs: Mapping[str, Codec[Any]],
        on_change: OnChange,
        key_format_of: KeyFormatOf = key_formats_of(None),  # noqa: B008
    ) -> None:
        self._service = service
        self._stores = {store.name: store for store in stores}
        self._lent = lent
        self._codecs = codecs
        self._on_change = on_change
        self._unwritten: dict[str, None] = dict.fromkeys(self._stores)
        self._old: list[Rows[Any]] = []
        self._layouts = Layouts(service, stores, self._has_changes, self._decode_first, key_format_of)
        self.conversions: list[Conversion] = []
        """What this batch converted."""

    def load(self, table: Table, stream_time: int) -> None:
        """Compare what `table` records with what is declared, and convert if that was asked for.

        Args:
            stream_time: of the task (ms): what values without a timestamp get.

        Raises:
            KindChanged: they differ, and conversion was not asked for or does not exist.
        """
        self._unwritten.clear()
        self._old.clear()
        self.conversions.clear()
        # First: a conversion reads the rows, and no conversion changes what their keys and values consist of.
        self._layouts.check(table)
        for name, store in self._stores.items():
            recorded = recorded_kind(table, name)
            if recorded == describe_store(store):
                continue
            self._unwritten[name] = None
            if not recorded:
                continue
            # A refusal must come before the first row is converted.
            self._check(store, recorded)
            done, old = convert(store, recorded, self._lent, self._codecs[name], stream_time)
            self.conversions.append(done)
            self._old.extend(old)
        self._layouts.check_rows()

    def changes(self) -> Iterator[Change]:
        """Yield this batch's changes as table rows."""
        for rows in self._old:
            yield from rows.changes()
        for name in self._changed_stores():
            yield PREFIX + name.encode(), describe_store(self._stores[name]).encode()
        yield from self._layouts.changes()

    def settle(self) -> None:
        """Begin a batch: the changes so far are in the table. Call it before the stores' rows are settled."""
        self._layouts.settle()
        if self._unwritten:
            for name in self._changed_stores():
                del self._unwritten[name]
            self._old.clear()
            self.conversions.clear()

    def _changed_stores(self) -> list[str]:
        converted = {done.store for done in self.conversions}
        return [name for name in self._unwritten if name in converted or self._has_changes(name)]

    def _has_changes(self, name: str) -> bool:
        return any(rows.has_changes for rows in self._lent.of_store.get(name, ()))

    def _decode_first(self, name: str, most: int) -> int:
        if any(done.store == name for done in self.conversions):
            # The table still has the rows in their previous format.
            return 0
        return sum(rows.decode_first(most) for rows in self._lent.of_store.get(name, ()) if rows.store == name)

    def _check(self, store: Store[Any], recorded: str) -> None:
        what = f"store {store.name} holds rows of the format {recorded!r}, but is declared as {describe_store(store)!r}"
        if way_to(store, recorded) is Way.NONE:
            raise KindChanged(
                f"{what}: there is no conversion between the two. Declare it as it was, give the new store another "
                f"name, or start over with `forebay reset {self._service}`"
            )
        if self._on_change is OnChange.REFUSE:
            raise KindChanged(
                f"{what}: it would misread them. Convert them with `forebay store upgrade {self._service}` (with the "
                "options of `forebay run`; --dry-run shows what it would do), or declare it as it was"
            )
