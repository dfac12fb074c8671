"""How rows of composite stores become bytes, around the codec of the store's own values."""

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
    """A value that may be null: a version, or a buffered update. The row exists either way."""

    value: V | None


class StampedCodec(Generic[V]):
    """Timestamp (8 bytes), then the value's own bytes."""

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
    """The value's own bytes, unchanged; no bytes at all mean null.

    Values that begin with 0xFF, or are empty, get a 0xFF before them (framed Avro begins with zero).
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
    """A 64-bit number."""

    is_frozen = True

    def encode(self, record: int) -> bytes:
        return pack_time(record)

    def decode(self, data: bytes) -> int:
        return unpack_time(data)


class BytesCodec:
    """Bytes as they are (the rows of an index)."""

    is_frozen = True

    def encode(self, record: bytes) -> bytes:
        return record

    def decode(self, data: bytes) -> bytes:
        return data


PRESENT = b""
"""Value of an index row: its key says everything."""
