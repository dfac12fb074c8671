"""Row keys of composite stores: bytes whose order is the order of their parts.

A text part ends with a terminator that sorts below every byte (0x00 0x01; zero bytes inside are escaped as
0x00 0xFF); a time is 8 bytes, big-endian, signed. So rows sort by their parts, and "a" never mixes with "aa".
"""

from __future__ import annotations

import struct

from forebay.stores.table import prefix_end
from forebay.time import base

_PART = struct.Struct(">Q")
_OFFSET = 1 << 63
_LARGEST = (1 << 64) - 1
FOREVER = base.FOREVER
"""A time (ms) after every record's."""

_TERMINATOR = b"\0\x01"

WIDTH = 8
"""Bytes of a packed time or number."""


class NullKeyError(TypeError):
    """A store was asked for the null key."""


def encode_key(store: str, key: str | None) -> bytes:
    """Return a key's bytes. Raises NullKeyError."""
    if key is None:
        raise NullKeyError(f"store {store}: the key is null; drop such records or give them a key before the store")
    return key.encode()


def pack_time(ts: int) -> bytes:
    """Return 8 bytes that sort like `ts` (ms, any sign); times beyond 64 bits become the nearest that fits."""
    return _PART.pack(min(max(ts + _OFFSET, 0), _LARGEST))


def unpack_time(data: bytes, at: int = 0) -> int:
    """Read a time packed at offset `at`."""
    value: int = _PART.unpack_from(data, at)[0]
    return value - _OFFSET


def terminate(key: bytes) -> bytes:
    """Return a key as a part that others can follow."""
    return (key.replace(b"\0", b"\0\xff") if b"\0" in key else key) + _TERMINATOR


def split_text(data: bytes, at: int = 0) -> tuple[str, int]:
    """Read a terminated text at offset `at`; give it and the offset behind it."""
    end = data.index(_TERMINATOR, at)
    text = data[at:end]
    return (text.replace(b"\0\xff", b"\0") if b"\0" in text else text).decode(), end + len(_TERMINATOR)


def join_key(*parts: str) -> str:
    """Return one store key from several fields: keys sort by their parts, which may hold any characters."""
    return "".join([part.replace("\0", "\0\2") + "\0\1" for part in parts])


def split_key(key: str) -> tuple[str, ...]:
    """Return the fields of a key made by `join_key`."""
    return tuple(part.replace("\0\2", "\0") for part in key.split("\0\1")[:-1])


def after(prefix: bytes) -> bytes:
    """Return the smallest row key above all that start with `prefix` (which ends with a terminator or a time)."""
    end = prefix_end(prefix)
    return b"\xff" * (len(prefix) + 1) if end is None else end
