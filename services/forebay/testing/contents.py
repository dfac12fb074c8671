"""The contents of a store of any kind, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forebay.stores.binding import Store
from forebay.stores.listvalue import ListValueStore
from forebay.stores.versioned import VersionedKeyValueStore


def contents(stores: Sequence[Store[Any]], key_of: Callable[[str], Any]) -> Any:
    """Return the combined contents of a store in several tasks.

    For key-value stores: the values by key. For a list store: tuples of values by key. For a versioned store: tuples of
    (value, timestamp) of all versions and tombstones (None) by key, oldest first. For windows, sessions and buffers:
    the entries.

    Args:
        stores: The store in each task.
        key_of: Function that converts a row text to a key.
    """
    kind = stores[0]
    if isinstance(kind, VersionedKeyValueStore):
        versions = (entry for store in stores for entry in store.history())  # type: ignore[attr-defined]
        return _by_key((key_of(text), (value, timestamp)) for text, value, timestamp in versions)
    entries: list[Any] = [entry for store in stores for entry in store.all()]  # type: ignore[attr-defined]
    if isinstance(kind, ListValueStore):
        return _by_key((key_of(text), value) for text, value in entries)
    if all(type(entry) is tuple for entry in entries):
        return {key_of(text): value for text, value in sorted(entries, key=lambda entry: str(entry[0]))}
    return [entry._replace(key=key_of(entry.key)) for entry in entries]


def _by_key(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    contents: dict[Any, tuple[Any, ...]] = {}
    for key, value in pairs:
        contents[key] = (*contents.get(key, ()), value)
    return contents
