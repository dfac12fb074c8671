"""Records of the store formats in which a task's rows were written, so that no other format misreads them."""

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
    """What happens to a store's rows if its declared format has changed."""

    REFUSE = "refuse"
    CONVERT = "convert"


class KindChanged(DeclarationChanged):
    """A store declares another format than the one of its rows. The message names both and says what to do."""


def recorded_kind(table: Table, store: str) -> str:
    """Return the declaration with which a store's rows were written; "" if none is recorded."""
    return (table.get(PREFIX + store.encode()) or b"").decode()


def recorded_formats(table: Table, stores: Iterable[str]) -> dict[str, RowValue]:
    """Return the layout of the values of each store's rows, except for stores whose declaration is not recorded."""
    kinds = {store: recorded_kind(table, store) for store in stores}
    return {store: row_value_of(recorded) for store, recorded in kinds.items() if recorded}


class Kinds:
    """The recorded declarations of a task's stores: a row per store, with PREFIX and the store's name as its key.

    The row is written with the first change of the store. Rows of a store without it were written by a release that
    recorded nothing. The declared format is assumed for them.

    Args:
        service: Name of the service, for messages.
        stores: Stores, bound to the task's rows.
        lent: Rows of the task.
        codecs: Codecs of the values, by store.
        on_change: What happens to rows of another format.
        key_format_of: Function that returns the format of a store's keys.
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
        """Conversions in this commit."""

    def load(self, table: Table, stream_time: int) -> None:
        """Compare the recorded declarations with the stores, and convert rows if this was requested.

        Args:
            stream_time: Stream time of the task (ms), which becomes the timestamp of values without one.

        Raises:
            KindChanged: They differ, and a conversion was not requested or does not exist.
        """
        self._unwritten.clear()
        self._old.clear()
        self.conversions.clear()
        # Check the layouts first. A conversion reads the rows, and none of them changes the formats of keys and values.
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
        """Yield the changes of this commit as table rows."""
        for rows in self._old:
            yield from rows.changes()
        for name in self._changed_stores():
            yield PREFIX + name.encode(), describe_store(self._stores[name]).encode()
        yield from self._layouts.changes()

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now. Call this before the stores' rows are settled."""
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
