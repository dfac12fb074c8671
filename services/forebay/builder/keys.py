"""Keys of a topology: conversion between typed keys and row texts, and keys with a window."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from forebay.codec import Codec, registering
from forebay.formats import Format, key_reader, key_writer, owner_of
from forebay.formats.identities import windowed_keys
from forebay.stores.keys import join_key, split_key
from forebay.time.base import Window

K = TypeVar("K")
O = TypeVar("O")  # noqa: E741

_TIME = struct.Struct(">q")
# Shifts a signed time to an unsigned one, so that the hexadecimal text sorts like the number, negative times included.
_OFFSET = 1 << 63


class Windowed(NamedTuple, Generic[K]):
    """A key together with its window or session."""

    key: K
    window: Window


def on_keys(kind: Format[Any], function: Callable[..., O]) -> Callable[..., O]:
    """Return a function whose first argument is a row text, from one whose first argument is a key."""
    if kind.is_text:
        return function
    of_row = reader_of_rows(kind)
    return lambda text, *rest: function(None if text is None else of_row(text), *rest)


def to_rows(kind: Format[Any], function: Callable[..., Any]) -> Callable[..., str | None]:
    """Return a function that returns a row text or None, from one that returns a key or None."""
    row = writer_of_rows(kind)

    def key_of(*arguments: Any) -> str | None:
        key = function(*arguments)
        return None if key is None else row(key)

    return key_of


def reader_of_rows(kind: Format[Any]) -> Callable[[str], Any]:
    """Return a function from a row text to the key. Raise TypeError if keys can't have the format."""
    key_writer(kind)
    assert kind.of_row is not None
    return kind.of_row


def writer_of_rows(kind: Format[Any]) -> Callable[[Any], str]:
    """Return a function from a key to its row text. Raise TypeError if keys can't have the format."""
    key_reader(kind)
    assert kind.row is not None
    return kind.row


def row_of(text: str, window: Window) -> str:
    """Return the row text of a key (as row text) and a window. Row texts sort by key, then start, then end."""
    return join_key(text, f"{window.start + _OFFSET:016x}", f"{window.end + _OFFSET:016x}")


def split_row(row: str) -> tuple[str, Window]:
    """Return the key (as row text) and the window of a row text that `row_of` returned."""
    text, start, end = split_key(row)
    return text, Window(int(start, 16) - _OFFSET, int(end, 16) - _OFFSET)


def windowed_format(inner: Format[K], size_ms: int) -> Format[Windowed[K]]:
    """Return the format of keys with windows of one size, as TimeWindowedSerializer writes them.

    The bytes are those of the key, followed by the window's start.
    """
    windowed = windowed_by_start(inner, lambda start: Window(start, start + size_ms))
    # Row texts contain a window's end, which follows from the size.
    return replace(windowed, identify=lambda: windowed_keys(inner.identity, f"{size_ms} ms"))


def windowed_by_start(inner: Format[K], window_from: Callable[[int], Window]) -> Format[Windowed[K]]:
    """Return the format of keys with windows, written as the key's bytes and the window's start.

    Args:
        window_from: Function that returns the window with a start (ms).
    """

    class Codec_:
        def __init__(self, keys: Codec[K]) -> None:
            self._keys = keys
            self.register = registering(keys)

        def encode(self, record: Windowed[K]) -> bytes:
            # TimeWindowedSerializer omits the end. A reader must know the windows' size to compute it.
            return self._keys.encode(record.key) + _TIME.pack(record.window.start)

        def decode(self, data: bytes) -> Windowed[K]:
            (start,) = _TIME.unpack(data[-8:])
            return Windowed(self._keys.decode(data[:-8]), window_from(start))

    return _with_window("windowed", inner, Codec_)


def session_windowed(inner: Format[K]) -> Format[Windowed[K]]:
    """Return the format of keys with sessions, as SessionWindowedSerializer writes them.

    The bytes are those of the key, followed by the session's end and start.
    """

    class Codec_:
        def __init__(self, keys: Codec[K]) -> None:
            self._keys = keys
            self.register = registering(keys)

        def encode(self, record: Windowed[K]) -> bytes:
            # The end comes before the start, unlike in the row text. SessionWindowedSerializer writes it in this order.
            return self._keys.encode(record.key) + _TIME.pack(record.window.end) + _TIME.pack(record.window.start)

        def decode(self, data: bytes) -> Windowed[K]:
            (end,), (start,) = _TIME.unpack(data[-16:-8]), _TIME.unpack(data[-8:])
            return Windowed(self._keys.decode(data[:-16]), Window(start, end))

    return _with_window("session-windowed", inner, Codec_)


def _with_window(word: str, inner: Format[K], codec: Callable[[Codec[K]], Codec[Windowed[K]]]) -> Format[Windowed[K]]:
    row, of_row, owner = writer_of_rows(inner), reader_of_rows(inner), owner_of(inner)

    def of_text(text: str) -> Windowed[K]:
        key, window = split_row(text)
        return Windowed(of_row(key), window)

    format_: Format[Any] = Format(
        f"{word} {inner}",
        Windowed,
        lambda contracts: codec(inner.codec(contracts)),
        lambda key: row_of(row(key.key), key.window),
        of_text,
        identify=lambda: windowed_keys(inner.identity) if word == "windowed" else [word, inner.identity],
        hashed=None if inner.hashed is None else _with_window(word, inner.hashed, codec),
    )
    # A windowed row belongs to the task of its key. Its own hash would spread the windows of one key over all tasks.
    return replace(format_, owner=lambda text: owner(split_row(text)[0]))
