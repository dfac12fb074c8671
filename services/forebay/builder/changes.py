"""Changes of a table's rows on their way through a repartition: old and new value together."""

from __future__ import annotations

import struct
from typing import Any, Generic, NamedTuple, TypeVar

from forebay.codec import Codec, DecodeError
from forebay.formats import Format

V = TypeVar("V")

_LENGTH = struct.Struct(">i")


class Moved(NamedTuple, Generic[V]):
    """What a change does to one group: the value that leaves it and the value that enters it."""

    new: V | None
    old: V | None


class _MovedCodec(Generic[V]):
    """The new value's length (-1: none), the new value, the old one; 0 or 1 says whether there is an old one."""

    def __init__(self, values: Codec[V]) -> None:
        self._values = values

    def encode(self, record: Moved[V]) -> bytes:
        new = None if record.new is None else self._values.encode(record.new)
        old = None if record.old is None else self._values.encode(record.old)
        head = _LENGTH.pack(-1 if new is None else len(new))
        return head + (new or b"") + (b"\0" if old is None else b"\x01" + old)

    def decode(self, data: bytes) -> Moved[V]:
        if len(data) <= _LENGTH.size:
            raise DecodeError(f"{len(data)} bytes are no change of a table")
        (length,) = _LENGTH.unpack_from(data)
        end = _LENGTH.size + max(length, 0)
        new = None if length < 0 else self._values.decode(data[_LENGTH.size : end])
        return Moved(new, None if data[end : end + 1] == b"\0" else self._values.decode(data[end + 1 :]))


def change_format(values: Format[Any]) -> Format[Any]:
    """Return the format of changes of rows of a format."""
    return Format(
        f"changes of {values}",
        Moved,
        lambda contracts: _MovedCodec(values.codec(contracts)),
        identify=lambda: ["changes of", values.identity],
    )
