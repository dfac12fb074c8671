"""Conversion of the JSON keys and values of cases to keys and records of stores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from forebay.codec import DecodeError

Json = Any
"""Any value of a JSON file."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A JSON value as a store's record."""

    json: str


class CellCodec:
    """Codec of cells, which are written as UTF-8 text."""

    is_frozen = True

    def encode(self, record: Cell) -> bytes:
        return record.json.encode()

    def decode(self, data: bytes) -> Cell:
        try:
            return Cell(data.decode())
        except UnicodeDecodeError as error:
            raise DecodeError(f"not a JSON cell: {error}") from error


def cell(value: Json) -> Cell:
    """Return a JSON value as a record."""
    return Cell(json.dumps(value, ensure_ascii=False, sort_keys=True))


def cell_or_none(value: Json) -> Cell | None:
    """Return a JSON value as a record. Null stays null."""
    return None if value is None else cell(value)


def plain(record: Cell | None) -> Json:
    """Return a record as its JSON value."""
    return None if record is None else json.loads(record.json)


class Keys:
    """Conversion of a case's keys to strings with the same order. Texts stay unchanged, numbers sort by value."""

    def __init__(self) -> None:
        self._seen: dict[str, Json] = {}

    def encode(self, key: Json) -> Any:
        """Return a key as text. Null stays null."""
        if key is None:
            return None
        if isinstance(key, str):
            text = key
        elif isinstance(key, int) and not isinstance(key, bool):
            text = f"{key + (1 << 63):020d}"
        else:
            text = json.dumps(key, sort_keys=True)
        self._seen[text] = key
        return text

    def decode(self, text: str | None) -> Json:
        """Return the key of a text that `encode` returned."""
        return None if text is None else self._seen[text]

    def memory(self) -> dict[str, Json]:
        """Return the keys that were encoded so far, by text."""
        return self._seen

    def remember(self, seen: dict[str, Json]) -> None:
        """Add keys that were encoded before, by text."""
        self._seen.update(seen)
