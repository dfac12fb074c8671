"""Stores whose keys are not text: numbers, UUIDs, records, keys with a window.

A key is stored as a mark and the row text of its format, so that it sorts as in a stream of that format. Texts are
stored unchanged and sort after these keys, so that a processor of a stream with other keys can use texts, too. The rows
of a table, which a processor may share, have no mark.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from forebay.formats import Format

MARK = "\x01"
"""Prefix of keys that are not texts."""
_NAMES = frozenset({"key", "key_from", "key_to", "start", "end"})
_CLASSES: dict[type[Any], type[Any]] = {}
_INNER = frozenset({"adapt", "bind", "with_read_back", "with_keys", "restore"})


def text_of(store: str, kind: Format[Any], mark: str, key: Any) -> Any:
    """Return the text that a store writes for a key. Raise TypeError if it is neither a text nor of the format."""
    if key is None or isinstance(key, str):
        return key
    if not isinstance(key, kind.type) or kind.row is None:
        raise TypeError(
            f"store {store}: the key {key!r} is {type(key).__name__}, but keys of this store are {kind} or text; "
            "declare others with with_keys()"
        )
    return mark + kind.row(key)


def key_of(kind: Format[Any], mark: str, text: Any) -> Any:
    """Return the key of a text that a store wrote."""
    if not isinstance(text, str) or not text.startswith(mark) or kind.of_row is None:
        return text
    return kind.of_row(text[len(mark) :])


def keyed_class(kind: type[Any]) -> type[Any]:
    """Return a subclass of a store class that accepts and returns keys of `_key_format`."""
    if kind not in _CLASSES:
        _CLASSES[kind] = _make_keyed_class(kind)
    return _CLASSES[kind]


def _make_keyed_class(kind: Any) -> Any:
    members: dict[str, Any] = {}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in _INNER:
            members[name] = _converting(method)
    metaclass: Any = type(kind)
    return metaclass(kind.__name__, (kind,), members)


def _converting(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(method).parameters)[1:]
    is_range = method.__name__ in ("range", "reverse_range")
    places = [at for at, name in enumerate(parameters) if name in _NAMES and (is_range or name.startswith("key"))]
    names = {parameters[at] for at in places}

    @wraps(method)
    def converting(self: Any, *arguments: Any, **named: Any) -> Any:
        kind, mark, store, given = self._key_format, self._key_mark, self.name, list(arguments)
        for at in places:
            if at < len(given):
                given[at] = text_of(store, kind, mark, given[at])
        for name in names & named.keys():
            named[name] = text_of(store, kind, mark, named[name])
        if method.__name__ == "put_all":
            given[0] = [(text_of(store, kind, mark, key), *rest) for key, *rest in given[0]]
        result = method(self, *given, **named)
        if isinstance(result, Iterator):
            return (_entry(kind, mark, entry) for entry in result)
        return (
            [_entry(kind, mark, entry) for entry in result] if isinstance(result, list) else _entry(kind, mark, result)
        )

    return converting


def _entry(kind: Format[Any], mark: str, entry: Any) -> Any:
    """Return an entry of a store with its key in place of the key's text."""
    if hasattr(entry, "_replace"):
        return entry._replace(key=key_of(kind, mark, entry.key)) if "key" in entry._fields else entry
    if type(entry) is tuple and entry and isinstance(entry[0], str):
        return (key_of(kind, mark, entry[0]), *entry[1:])
    return entry
