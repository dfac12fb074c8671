"""Codecs of the rows of composite stores, which contain values that the store's codec encodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from forebay.codec import Codec, DecodeError, canonical_of, is_frozen
from forebay.stores.keys import WIDTH, pack_time, unpack_time

V = TypeVar("V")

_ESCAPE = b"\xff"


class Stamped(NamedTuple, Generic[V]):
    """A value with its timestamp in ms."""

    value: V
    timestamp: int


class Held(NamedTuple, Generic[V]):
    """A value that may be null in an existing row, such as a version or a buffered update."""

    value: V | None


class StampedCodec(Generic[V]):
    """Codec of a timestamp (8 bytes), followed by the value's bytes."""

    canonical: Callable[[Stamped[V]], Stamped[V]] | None = None

    def __init__(self, values: Codec[V]) -> None:
        self._values = values
        self.is_frozen = is_frozen(values)
        inner = canonical_of(values)
        if inner is not None:
            self.canonical = lambda record: Stamped(inner(record.value), record.timestamp)

    def encode(self, record: Stamped[V]) -> bytes:
        return pack_time(record.timestamp) + self._values.encode(record.value)

    def decode(self, data: bytes) -> Stamped[V]:
        if len(data) < WIDTH:
            raise DecodeError(f"a stamped value of {len(data)} bytes has no timestamp")
        return Stamped(self._values.decode(data[WIDTH:]), unpack_time(data))


class HeldCodec(Generic[V]):
    """Codec of a value's bytes, unchanged. Null is encoded as no bytes.

    If a value's bytes are empty or begin with 0xFF, a 0xFF precedes them. (Framed Avro begins with a zero byte.)
    """

    canonical: Callable[[Held[V]], Held[V]] | None = None

    def __init__(self, values: Codec[V]) -> None:
        self._values = values
        self.is_frozen = is_frozen(values)
        inner = canonical_of(values)
        if inner is not None:
            self.canonical = lambda record: record if record.value is None else Held(inner(record.value))

    def encode(self, record: Held[V]) -> bytes:
        if record.value is None:
            return b""
        data = self._values.encode(record.value)
        return _ESCAPE + data if not data or data.startswith(_ESCAPE) else data

    def decode(self, data: bytes) -> Held[V]:
        if not data:
            return Held(None)
        return Held(self._values.decode(data[1:] if data.startswith(_ESCAPE) else data))


class NumberCodec:
    """Codec of a signed 64-bit number."""

    is_frozen = True

    def encode(self, record: int) -> bytes:
        return pack_time(record)

    def decode(self, data: bytes) -> int:
        return unpack_time(data)


class BytesCodec:
    """Codec of bytes, which leaves them unchanged (the rows of an index)."""

    is_frozen = True

    def encode(self, record: bytes) -> bytes:
        return record

    def decode(self, data: bytes) -> bytes:
        return data


PRESENT = b""
"""Value of an index row, which has all information in its key."""
