"""What rows consist of, recorded with them: other columns, types, keys or windows would misread them silently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forebay.codec import DecodeError, Unavailable
from forebay.formats import Format
from forebay.stores.binding import Store
from forebay.stores.table import Change, Table

PREFIX = b"\x01layout\0"
_VALUES, _KEYS, _WINDOWS = "values: ", "keys: ", "windows: "
_BY_NAME = frozenset(("AVRO", "JSON", "JSON_SR", "PROTOBUF"))
"""First words of formats whose rows are read by the names of their fields."""
_RECORD = re.compile(r"^(Avro key|composite) \S+")
"""Formats of keys whose bytes do not depend on the name of their record."""

KeyFormatOf = Callable[[str], Format[Any] | None]
"""Returns the format of a store's keys by the store's name; None: the store's own, or not known."""


def no_key_format(_store: str) -> None:
    """Return nothing: stores of a processor that was written by hand have texts, or say which keys they have."""


def layout_of(store: Store[Any], key_format_of: KeyFormatOf = no_key_format) -> tuple[str, ...]:
    """Return what a store's rows consist of, a line each: columns, or a format; then keys and windows."""
    values = store.format.layout or (_VALUES + _describe(store.format),)
    key = store.key_format or key_format_of(store.name)
    keys = () if key is None else (_KEYS + "; ".join((_RECORD.sub(r"\1", key.name), *key.layout)),)
    kind, begin = store.windows
    # Rows of the DSL stay with the windows that they were written for, as in Kafka Streams. ksqlDB refuses others.
    windows = f"{kind} {begin}".strip() if store.format.layout else kind
    return (*values, *keys, *((_WINDOWS + windows,) if windows else ()))


def _describe(kind: Format[Any]) -> str:
    word = kind.name.split(" ")[0].upper()
    # A message of the DSL and of KSML is read by the numbers of its fields.
    is_by_name = word in _BY_NAME and not kind.name.startswith(("Protobuf", "protobuf"))
    return word if is_by_name else kind.name


def _differs(recorded: Sequence[str], declared: Sequence[str]) -> bool:
    """Return whether rows would be misread. What only one of the two says may be as it was."""
    before, now = _parts(recorded), _parts(declared)
    if before[0][:1] and before[0][0].startswith(_VALUES) and not now[0][0].startswith(_VALUES):
        # Formats of columns that a topic's values do not have read such values, too.
        before[0].clear()
    return any(one and other and one != other for one, other in zip(before, now, strict=True))


def _parts(lines: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return what lines say of values, keys and windows."""
    keys = [line for line in lines if line.startswith(_KEYS)]
    windows = [line for line in lines if line.startswith(_WINDOWS)]
    return [line for line in lines if not line.startswith((_KEYS, _WINDOWS))], keys, windows


class DeclarationChanged(Exception):
    """A store's rows have other columns than those that are declared; the message names both and the remedy."""


class Layouts:
    """One row per store: the names and types of its columns, or the format of its values; its keys and windows.

    It is written with the first change of the store. Rows without it were written by a release that recorded none.
    They count as written with the columns that are declared, unless the first of them can't be.

    Args:
        service: named in remedies.
        stores: of the task.
        has_changes: returns whether the store of a name changed in this commit.
        decode_first: decodes the first rows of the store of a name. It raises DecodeError, Unavailable.
        key_format_of: returns the format of keys that a store does not know itself.
    """

    def __init__(
        self,
        service: str,
        stores: Sequence[Store[Any]],
        has_changes: Callable[[str], bool],
        decode_first: Callable[[str], None],
        key_format_of: KeyFormatOf = no_key_format,
    ) -> None:
        self._service, self._decode_first = service, decode_first
        self._declared = {store.name: layout_of(store, key_format_of) for store in stores}
        self._by_place = {store.name for store in stores if store.format.layout}
        self._has_changes = has_changes
        self._unwritten = dict.fromkeys(self._declared)

    def check(self, table: Table) -> None:
        """Compare what `table` records with what is declared. Raises DeclarationChanged."""
        self._unwritten.clear()
        for name, declared in self._declared.items():
            recorded = table.get(PREFIX + name.encode())
            lines = [] if recorded is None else recorded.decode().split("\n")
            if _differs(lines, declared):
                is_by_place = name in self._by_place
                what = "statement with its columns and aggregates as they were, in their order" if is_by_place else ""
                raise DeclarationChanged(
                    f"store {name} holds rows of {'; '.join(lines)}, but is declared with {'; '.join(declared)}: the "
                    f"job would misread them. Write the {what or 'declaration as it was'}; {self._other_remedies()}"
                )
            if lines != [*declared]:
                self._unwritten[name] = None

    def check_rows(self, table: Table) -> None:
        """Decode the first rows of stores that no release recorded the columns of. Raises DeclarationChanged."""
        for name in self._by_place:
            if table.get(PREFIX + name.encode()) is None:
                self._check_rows(name, self._declared[name])

    def _check_rows(self, name: str, columns: Sequence[str]) -> None:
        """Decode the first rows of a store. Each record would fail otherwise that reads a row with other columns."""
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
        return f"or give it another name, which begins without rows; or start over with `forebay reset {self._service}`"

    def changes(self) -> Iterator[Change]:
        """Yield what this commit records."""
        for name in filter(self._has_changes, self._unwritten):
            yield PREFIX + name.encode(), "\n".join(self._declared[name]).encode()

    def settle(self) -> None:
        """Begin a commit: the changes so far are in the table. Call it before the stores' rows are settled."""
        if self._unwritten:
            for name in [*filter(self._has_changes, self._unwritten)]:
                del self._unwritten[name]
