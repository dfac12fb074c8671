"""The representation of keys that are not texts, in URLs and in JSON."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format, no_contracts
from forebay.queries.entries import Entry, shown_value
from forebay.queries.reads import Bounds, WrongQuery
from forebay.records import is_record_type
from forebay.serde.json_format import json_of
from forebay.stores.binding import Store
from forebay.stores.keyed import MARK, key_of, text_of

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_BOOLEANS = {"true": True, "false": False}


def shown_entry(store: Store[Any], entry: Entry) -> dict[str, Any]:
    """Return an entry as a JSON object, with its key as the value that the job's logic uses.

    If the store's keys are not texts, `key_text` is the key's form in a URL.
    """
    document = entry.as_json()
    if store.key_format is None:
        return document
    if entry.key.startswith(MARK):
        document.pop("key_parts", None)
    return {**document, "key": shown_key(store, entry.key), "key_text": url_text(store, entry.key)}


def shown_key(store: Store[Any], row_text: str) -> Any:
    """Return a key for JSON: a number as a number, a record as an object, a UUID or text as a text."""
    kind = store.key_format
    if kind is None or not row_text.startswith(MARK):
        return row_text
    key = key_of(kind, MARK, row_text)
    return str(key) if isinstance(key, uuid.UUID) else shown_value(key)


def url_text(store: Store[Any], row_text: str) -> str:
    """Return a key's form in a URL, which `row_text_of` converts back to its row text."""
    if store.key_format is None:
        return row_text
    key = shown_key(store, row_text)
    if not row_text.startswith(MARK):
        return json.dumps(key, ensure_ascii=False)
    return key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)


def row_text_of(store: Store[Any], text: str) -> str:
    """Return the row text of a key in a URL.

    If the store's keys are not texts, a text is written in double quotes. Raises WrongQuery if it is not a key.
    """
    kind = store.key_format
    if kind is None or text.startswith(MARK):
        return text
    quoted = _unquote(text)
    if quoted is not None:
        return quoted
    try:
        key = parse_key(kind, text)
        encoded = kind.codec(no_contracts).encode(key)
        if isinstance(key, float):
            key = kind.codec(no_contracts).decode(encoded)
        return str(text_of(store.name, kind, MARK, key))
    except (ValueError, DecodeError, EncodeError, TypeError) as error:
        raise WrongQuery(
            f"store {store.name}: {text!r} is not a key of the format {kind}: write {example_of(kind)}, "
            'or a text in double quotes, such as "a"'
        ) from error


def typed_bounds(store: Store[Any], bounds: Bounds) -> Bounds:
    """Return bounds with keys as row texts. Raises WrongQuery."""
    kind = store.key_format
    if kind is None:
        return bounds
    key_bounds = {name: getattr(bounds, name) for name in ("key_from", "key_to", "after")}
    keys: dict[str, Any] = {name: row_text_of(store, text) for name, text in key_bounds.items() if text is not None}
    if bounds.prefix is not None:
        keys["prefix"] = _prefix(store, kind, bounds.prefix)
    return replace(bounds, **keys)


def _prefix(store: Store[Any], kind: Format[Any], text: str) -> str:
    quoted = _unquote(text)
    if quoted is not None:
        return quoted
    if kind.type is uuid.UUID:
        return MARK + text.lower()
    if kind.type is str:
        return MARK + text
    raise WrongQuery(
        f"store {store.name}: keys of the format {kind} have no prefix: request a range of keys, "
        f"such as from={example_of(kind)}, or for texts with a prefix in double quotes"
    )


def _unquote(text: str) -> str | None:
    """Return the text within double quotes; None if it has none."""
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def parse_key(kind: Format[Any], text: str) -> Any:
    """Return the key that a text represents in a format. Raises ValueError, DecodeError, TypeError."""
    parse = _PARSERS.get(kind.type)
    if parse is not None:
        return parse(text)
    if is_record_type(kind.type):
        return json_of(kind.type).codec(no_contracts).decode(text.encode())
    raise ValueError("keys of this format are not written as text")


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("it is not a whole number")
    return int(text)


def _boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError("it is neither true nor false")
    return _BOOLEANS[text]


_PARSERS: dict[type[Any], Callable[[str], Any]] = {
    int: _whole,
    float: float,
    bool: _boolean,
    bytes: bytes.fromhex,
    uuid.UUID: uuid.UUID,
    str: str,
}
_EXAMPLES: dict[type[Any], str] = {
    int: "a whole number, such as 42",
    float: "a number, such as 4.5",
    bool: "true or false",
    bytes: "hexadecimal digits, such as 0aff",
    uuid.UUID: "a UUID, such as 6fa459ea-ee8a-3ca4-894e-db77e160355e",
}


def example_of(kind: Format[Any]) -> str:
    """Return a description of the text to write for a key of a format, with an example."""
    return _EXAMPLES.get(kind.type, "a JSON object with its fields")
