"""Row keys of composite stores, which sort by their parts.

A text part ends with a terminator that sorts below every byte (0x00 0x01; zero bytes in the text are escaped as
0x00 0xFF), so that the rows of "a" and "aa" are never mixed. A time has 8 bytes, big-endian, with the sign bit
inverted, so that negative times sort first.
"""

from __future__ import annotations

import struct

from forebay.stores.table import prefix_end
from forebay.time import base

_PART = struct.Struct(">Q")
_OFFSET = 1 << 63
_LARGEST = (1 << 64) - 1
FOREVER = base.FOREVER
"""A time (ms) after that of every record."""

_TERMINATOR = b"\0\x01"

WIDTH = 8
"""Bytes of a packed time or number."""


class NullKeyError(TypeError):
    """A store was called with a null key."""


def encode_key(store: str, key: str | None) -> bytes:
    """Return a key's bytes. Raise NullKeyError if the key is None."""
    if key is None:
        raise NullKeyError(f"store {store}: the key is null; drop such records or give them a key before the store")
    return key.encode()


def pack_time(ts: int) -> bytes:
    """Return 8 bytes that sort like `ts` (ms, any sign). Times beyond 64 bits become the nearest possible one."""
    return _PART.pack(min(max(ts + _OFFSET, 0), _LARGEST))


def unpack_time(data: bytes, at: int = 0) -> int:
    """Return the packed time at offset `at`."""
    value: int = _PART.unpack_from(data, at)[0]
    return value - _OFFSET


def terminate(key: bytes) -> bytes:
    """Return a key as a part that other parts can follow."""
    return (key.replace(b"\0", b"\0\xff") if b"\0" in key else key) + _TERMINATOR


def split_text(data: bytes, at: int = 0) -> tuple[str, int]:
    """Return the terminated text at offset `at`, and the offset after it."""
    end = data.index(_TERMINATOR, at)
    text = data[at:end]
    return (text.replace(b"\0\xff", b"\0") if b"\0" in text else text).decode(), end + len(_TERMINATOR)


def join_key(*parts: str) -> str:
    """Return a store key of several fields, which may contain any characters. The keys sort by their fields."""
    return "".join([part.replace("\0", "\0\2") + "\0\1" for part in parts])


def split_key(key: str) -> tuple[str, ...]:
    """Return the fields of a key that `join_key` returned."""
    return tuple(part.replace("\0\2", "\0") for part in key.split("\0\1")[:-1])


def after(prefix: bytes) -> bytes:
    """Return a row key above all that start with `prefix`, which ends with a terminator or a time."""
    end = prefix_end(prefix)
    return b"\xff" * (len(prefix) + 1) if end is None else end
