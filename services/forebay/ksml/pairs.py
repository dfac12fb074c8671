"""Pairs of values, which a join or regrouping passes to a function of both."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from forebay.codec import Codec
from forebay.formats import Contracts, Format

_LENGTH = struct.Struct(">i")


class Pair(NamedTuple):
    """Two values; either may be None."""

    one: Any
    other: Any


class _PairCodec:
    def __init__(self, one: Codec[Any], other: Codec[Any]) -> None:
        self._one = one
        self._other = other

    def encode(self, record: Pair) -> bytes:
        first = b"" if record.one is None else self._one.encode(record.one)
        last = b"" if record.other is None else self._other.encode(record.other)
        sizes = _LENGTH.pack(-1 if record.one is None else len(first)), b"\0" if record.other is None else b"\1"
        return sizes[0] + sizes[1] + first + last

    def decode(self, data: bytes) -> Pair:
        (size,) = _LENGTH.unpack(data[:4])
        begins, ends = 5, 5 + max(size, 0)
        one = None if size < 0 else self._one.decode(data[begins:ends])
        return Pair(one, self._other.decode(data[ends:]) if data[4] else None)


def pair_of(one: Format[Any], other: Format[Any]) -> Format[Any]:
    """Return the format of pairs of two formats' values."""

    def codec(contracts: Contracts, /) -> Codec[Any]:
        return _PairCodec(one.codec(contracts), other.codec(contracts))

    return Format(f"{one} and {other}", Pair, codec, identify=lambda: ["pair of", one.identity, other.identity])
