"""Records of the formats of a store's keys and values, so that no other format silently misreads its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from forebay.codec import DecodeError, Unavailable
from forebay.formats import TEXT, Format
from forebay.formats.identities import (
    Identity,
    Misread,
    columns_of,
    has_columns,
    is_computed,
    is_marked,
    merge_identities,
    reads_alike,
    with_mark,
)
from forebay.formats.identity_words import words_of
from forebay.stores.binding import Store
from forebay.stores.keyed import MARK
from forebay.stores.layout import OWN
from forebay.stores.table import Change, Table, prefix_end

PREFIX = b"\x01layout\0"
_MARK = b"\0"
"""Prefix of a layout with names. Earlier builds of 0.3 recorded only columns, without this prefix."""
KEYS, VALUES = "keys", "values"
_WINDOWS = "windows"
_PARTS = (VALUES, KEYS, _WINDOWS)
_CHECKED_ROWS = 100
_CHECKED_ROWS_OF_EDITS = 200_000
"""Number of rows of a task's edited stores that are decoded. This takes a second or two. A worker that opens a task
must respond within a minute."""

KeyFormatOf = Callable[[str], Format[Any] | None]
"""Returns the format of a store's keys by the store's name. None: the keys are texts."""


class DecodeFirst(Protocol):
    """A function that decodes the first rows of a store."""

    def __call__(self, name: str, most: int, /) -> int:
        """Decode up to `most` rows of the store with this name. Return their number."""
        ...


Layout = dict[str, Identity]
"""Identities of a store's values, keys and windows."""


class DeclarationChanged(Exception):
    """A store's rows have another format than the declared one. The message names both and says what to do."""


def key_formats_of(processor: object) -> KeyFormatOf:
    """Return the function from a store's name to the format of its keys. Without one, all keys are texts."""
    return getattr(processor, "key_format_of", lambda _store: None)


def layout_of(store: Store[Any], key_format_of: KeyFormatOf) -> Layout:
    """Return the layout of a declared store's rows."""
    kind = store.key_format
    keys = store.key_identity
    if keys is None:
        keys = (key_format_of(store.name) or TEXT).identity if kind is None else with_mark(kind.identity)
    return {VALUES: store.format.identity, KEYS: keys, _WINDOWS: store.windows or None}


def encode_layout(layout: Layout) -> bytes:
    """Return the bytes in which a layout is recorded."""
    return _MARK + json.dumps(layout, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def decode_layout(data: bytes) -> Layout:
    """Return the layout of recorded bytes."""
    if data.startswith(_MARK):
        return dict(json.loads(data[len(_MARK) :]))
    return {VALUES: columns_of(data.decode())}


def merge_layouts(recorded: Layout, declared: Layout) -> Layout:
    """Return the layout of a store with rows of two layouts. Raise Misread, which describes both, if it can't exist."""
    merged: Layout = {}
    for part in _PARTS:
        before, now = recorded.get(part), declared.get(part)
        try:
            merged[part] = merge_identities(before, now, is_key=part == KEYS)
        except Misread as error:
            reason = f" ({error})" if str(error) else ""
            raise Misread(_difference(part, words_of(before), words_of(now)) + reason) from None
    return merged


def _difference(part: str, before: str, now: str) -> str:
    if part == _WINDOWS:
        return f"holds rows of {before} windows, but is declared with {now} windows"
    if part == KEYS:
        return f"holds keys in the format {before}, but is declared with keys in the format {now}"
    return f"holds rows of {before}, but is declared with {now}"


def merge_recorded(one: bytes, other: bytes) -> bytes:
    """Return the layout for rows of two tasks, one of which may not have written a row since an edit.

    Raises:
        Misread: No format can read the rows of both.
    """
    if one == other:
        return one
    layouts = decode_layout(one), decode_layout(other)
    try:
        merged = merge_layouts(*layouts)
    except Misread:
        merged = merge_layouts(layouts[1], layouts[0])
    for layout in layouts:
        merged |= {part: identity for part, identity in layout.items() if merged.get(part) is None}
    return encode_layout(merged)


def merge_with_rows(recorded: Layout, declared: Layout, table: Table, store: Store[Any]) -> Layout:
    """Return the layout of a store with rows of two layouts. If the key formats differ, check the stored keys.

    A store that can have keys of its stream's format may contain only texts, which every declaration can read.

    Raises:
        Misread: The declared formats can't read the rows. The message describes both.
    """
    try:
        return merge_layouts(recorded, declared)
    except Misread:
        if not is_marked(recorded.get(KEYS)) or any(_marked_keys(table, store)):
            raise
    return merge_layouts(recorded | {KEYS: TEXT.identity}, declared)


def _marked_keys(table: Table, store: Store[Any]) -> Iterator[str]:
    """Yield the keys of a store that are not texts."""
    prefix, place = store.name.encode() + b"\0", store.key_places.get(OWN)
    if place is None or not place.times:
        prefix += MARK.encode()
    for row, _ in table.scan(prefix, prefix_end(prefix)):
        key = MARK if place is None else place.key(row[len(store.name) + 1 :])
        if key.startswith(MARK):
            yield key


def refusal_of(table: Table, store: Store[Any], key_format_of: KeyFormatOf) -> str:
    """Return the reason why a declared store can't read the rows of a table; "" if it can."""
    data = table.get(PREFIX + store.name.encode())
    try:
        recorded = {} if data is None else decode_layout(data)
        merge_with_rows(recorded, layout_of(store, key_format_of), table, store)
    except Misread as error:
        return str(error)
    return ""


class Layouts:
    """The recorded layouts of a task's stores, in a row per store.

    The row is written with the first change of the store. Rows of a store without it were written by a release that
    recorded nothing. The declared formats are assumed for them, unless the first rows can't be decoded.

    Args:
        service: Name of the service, for messages.
        stores: Stores of the task.
        has_changes: Function that returns whether the store with a name has changed in this commit.
        decode_first: Function that decodes the first rows of a store. It raises DecodeError or Unavailable.
        key_format_of: Function that returns the format of a store's keys.
    """

    def __init__(
        self,
        service: str,
        stores: Sequence[Store[Any]],
        has_changes: Callable[[str], bool],
        decode_first: DecodeFirst,
        key_format_of: KeyFormatOf,
    ) -> None:
        self._service, self._decode_first = service, decode_first
        self._stores = {store.name: store for store in stores}
        self._declared = {store.name: layout_of(store, key_format_of) for store in stores}
        self._merged = dict(self._declared)
        self._has_changes = has_changes
        self._unwritten = dict.fromkeys(self._declared)
        self._unchecked: dict[str, bytes | None] = {}
        """Stores whose first rows must be decoded, with the recorded layout if the reason is an edit."""
        self._decoded: dict[str, bytes] = {}
        """Edited stores whose first rows were decoded, with the layout that was recorded then."""

    def check(self, table: Table) -> None:
        """Compare the recorded layouts with the declared ones. Raise DeclarationChanged if rows would be misread."""
        self._unwritten.clear()
        self._unchecked.clear()
        for name, declared in self._declared.items():
            data = table.get(PREFIX + name.encode())
            recorded = {} if data is None else decode_layout(data)
            try:
                self._merged[name] = merge_with_rows(recorded, declared, table, self._stores[name])
            except Misread as error:
                raise DeclarationChanged(
                    f"store {name} {error}: the job would misread them. {self._remedies(name, recorded)}"
                ) from None
            if data != encode_layout(self._merged[name]):
                self._unwritten[name] = None
            if data is None and self._stores[name].format.layout:
                self._unchecked[name] = None
            elif recorded.get(VALUES) and not reads_alike(recorded[VALUES], self._merged[name][VALUES]):
                self._unchecked[name] = data

    def check_rows(self) -> None:
        """Decode the first rows of stores whose format has changed compatibly or is unknown.

        Without this check, each record that reads such a row would fail.

        Raises:
            DeclarationChanged: A row can't be decoded.
        """
        # A failed commit loads the table again, but the edit is recorded only with the store's next row.
        unchecked = {
            name: recorded
            for name, recorded in self._unchecked.items()
            if recorded is None or self._decoded.get(name) != recorded
        }
        edited, left = sum(recorded is not None for recorded in unchecked.values()), _CHECKED_ROWS_OF_EDITS
        for name, recorded in unchecked.items():
            try:
                if recorded is None:
                    self._decode_first(name, _CHECKED_ROWS)
                else:
                    most, edited = max(0, left) // edited, edited - 1
                    left -= self._decode_first(name, most)
            except DecodeError as error:
                declared = words_of(self._declared[name][VALUES])
                if recorded is not None:
                    what = f"rows from before an edit that {declared} can't read: {error}"
                else:
                    what = (
                        "rows of an earlier release, but they do not have the declared columns "
                        f"{declared}: {error}. If a declaration leaves the columns of its topic out, this release may "
                        "find more of them in the schema, such as a DECIMAL of PROTOBUF: write the columns out as they "
                        "were"
                    )
                raise DeclarationChanged(f"store {name} holds {what}. {self._remedies(name, {})}") from error
            except Unavailable:
                # An external system such as the registry can't be reached. The records that read the rows wait for it.
                continue
            if recorded is not None:
                self._decoded[name] = recorded

    def _remedies(self, name: str, recorded: Layout) -> str:
        what, named = "the declaration with its formats as they were", "the table, the statement or the store"
        begins = "without rows"
        if self._stores[name].format.layout:
            what, named = "the statement with its columns and aggregates as they were, in their order", "its result"
            if is_computed(recorded.get(VALUES)) or is_computed(self._declared[name][VALUES]):
                what = "the statements that compute these rows, and their columns and aggregates in order, as they were"
                begins = "with the present rows of its table"
        elif has_columns(recorded.get(VALUES)):
            what = "a statement that reads the headers, ROWPARTITION or ROWOFFSET of the table, as before"
        return (
            f"Write {what}; or give {named} another name, which begins {begins}; or start over with "
            f"`forebay reset {self._service}`"
        )

    def changes(self) -> Iterator[Change]:
        """Yield the rows that this commit writes."""
        for name in filter(self._has_changes, self._unwritten):
            yield PREFIX + name.encode(), encode_layout(self._merged[name])

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now. Call this before the stores' rows are settled."""
        if self._unwritten:
            for name in [*filter(self._has_changes, self._unwritten)]:
                del self._unwritten[name]
