"""The grouping key: conversion of a record's columns to a record key, and of the record key to Spark's tuple."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from forebay.builder import Stream, TopologyError
from forebay.codec import DecodeError, EncodeError
from forebay.formats import JSON_WIRE, Format
from forebay.formats.identities import by_place
from forebay.records import fields_of, is_record_type

_SINGLE = (str, int, float, bool)
_PARTS = (*_SINGLE, type(None))


def group_stream(stream: Stream[Any, Any], columns: str | Sequence[str] | None) -> Stream[Any, Any]:
    """Return the stream with the grouping columns as its key. Without columns, the stream's key is the grouping key.

    Raises:
        TopologyError: A column does not exist, or its type can't be part of a key.
    """
    if columns is None:
        return stream
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise TopologyError(f"group_by={columns!r}: give the names of the columns to group by")
    kind = stream.node.value.type
    hints = typing.get_type_hints(kind) if is_record_type(kind) else None
    for name in names:
        if hints is not None and name not in hints:
            raise TopologyError(
                f"group_by: {kind.__name__} has no column {name!r}; it has {', '.join(fields_of(kind))}"
            )
    getter: Callable[[Any], Any] = itemgetter(*names) if hints is None else attrgetter(*names)
    if len(names) == 1:
        single = _present_type(str if hints is None else hints[names[0]])
        if single in _SINGLE:
            return stream.select_key(lambda _, value: getter(value), single)
        getter = _as_tuple(getter)
    types = [None if hints is None else getattr(_present_type(hints[name]), "__name__", None) for name in names]
    return stream.select_key(lambda _, value: getter(value), json_key(names, types))


def json_key(names: Sequence[str], types: Sequence[str | None]) -> Format[Any]:
    """Return the format for keys with several columns, a JSON array of their values.

    Args:
        names: Names of the columns.
        types: Types of the columns. The type is None if it is not known.
    """
    codec = _JsonKeys(names)
    return Format(
        f"JSON array of {', '.join(names)}",
        tuple,
        lambda _: codec,
        lambda key: codec.encode(key).decode(),
        lambda text: codec.decode(text.encode()),
        wire=JSON_WIRE,
        identify=lambda: by_place("JSON array", list(zip(names, types, strict=True))),
    )


def key_tuple(kind: Format[Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a function that converts a key's row text to the tuple of grouping columns that Spark passes."""
    if kind.is_text:
        return lambda text: (text,)
    of_row = kind.of_row
    assert of_row is not None
    if kind.type is tuple:
        return of_row
    if is_record_type(kind.type):
        fields = attrgetter(*fields_of(kind.type))
        return (
            (lambda text: fields(of_row(text)))
            if len(fields_of(kind.type)) > 1
            else lambda text: (fields(of_row(text)),)
        )
    return lambda text: (of_row(text),)


class _JsonKeys:
    is_frozen = True

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def encode(self, key: Any) -> bytes:
        for name, part in zip(self._names, key, strict=True):
            if not isinstance(part, _PARTS):
                raise EncodeError(
                    f"the grouping column {name} is {part!r:.80} ({type(part).__name__}): a key takes strings, numbers "
                    "and booleans"
                )
        return json.dumps(key, ensure_ascii=False, separators=(",", ":")).encode()

    def decode(self, data: bytes) -> tuple[Any, ...]:
        try:
            parts = json.loads(data)
        except ValueError as error:
            raise DecodeError(
                f"the key {data[:80]!r} is not a JSON array of {', '.join(self._names)}: {error}"
            ) from error
        if not isinstance(parts, list) or len(parts) != len(self._names):
            raise DecodeError(f"the key {data[:80]!r} is not a JSON array of {', '.join(self._names)}")
        return tuple(parts)


def _as_tuple(getter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: (getter(value),)


def _present_type(hint: Any) -> Any:
    """Return a column's type without None."""
    others = [item for item in typing.get_args(hint) if item is not type(None)]
    return others[0] if len(others) == 1 else hint
