"""Format of the changes of rows in a repartition topic, which contain the old and the new value."""

from __future__ import annotations

import struct
from typing import Any, Generic, NamedTuple, TypeVar

from forebay.codec import Codec, DecodeError
from forebay.formats import Format

V = TypeVar("V")

_LENGTH = struct.Struct(">i")


class Moved(NamedTuple, Generic[V]):
    """The effect of a change on one group: the value that enters the group and the value that leaves it."""

    new: V | None
    old: V | None


class _MovedCodec(Generic[V]):
    """The codec of changes.

    The bytes are the length of the new value (-1: there is none), the new value, 1 or 0 (whether there is an old value)
    and the old value.
    """

    def __init__(self, values: Codec[V]) -> None:
        self._values = values

    def encode(self, record: Moved[V]) -> bytes:
        new = None if record.new is None else self._values.encode(record.new)
        old = None if record.old is None else self._values.encode(record.old)
        head = _LENGTH.pack(-1 if new is None else len(new))
        return head + (new or b"") + (b"\0" if old is None else b"\x01" + old)

    def decode(self, data: bytes) -> Moved[V]:
        if len(data) <= _LENGTH.size:
            raise DecodeError(f"{len(data)} bytes are not a change of a table")
        (length,) = _LENGTH.unpack_from(data)
        end = _LENGTH.size + max(length, 0)
        new = None if length < 0 else self._values.decode(data[_LENGTH.size : end])
        return Moved(new, None if data[end : end + 1] == b"\0" else self._values.decode(data[end + 1 :]))


def change_format(values: Format[Any]) -> Format[Any]:
    """Return the format of changes of rows that have the format `values`."""
    return Format(
        f"changes of {values}",
        Moved,
        lambda contracts: _MovedCodec(values.codec(contracts)),
        identify=lambda: ["changes of", values.identity],
    )
