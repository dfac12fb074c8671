"""Protocol Buffers as a format of values: classes that `protoc` generated. Needs the package `protobuf`."""

from __future__ import annotations

from typing import Any, TypeVar

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format
from forebay.serde.proto_identity import identity_of

T = TypeVar("T")


class _ProtobufCodec:
    """Protobuf's own bytes, maps in order of their keys, so that equal messages have equal bytes in this process."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def encode(self, record: Any) -> bytes:
        if record.__class__ is not self._message:
            raise EncodeError(f"{record!r} is not a valid {self._message.__name__}")
        try:
            data: bytes = record.SerializeToString(deterministic=True)
        except Exception as error:
            raise EncodeError(f"{self._message.__name__} can't be written: {error}") from error
        return data

    def decode(self, data: bytes) -> Any:
        try:
            return self._message.FromString(data)
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are not a valid {self._message.__name__}: {error}") from error


def protobuf(message: type[T]) -> Format[T]:
    """Return the format of a generated message class. No key can have it: other writers' bytes may differ.

    A message can be changed in place, so a store keeps its bytes: each get returns another message, and a change counts
    only once it is put.
    """
    described: Any = message
    return Format(
        f"Protobuf {message.__name__}",
        message,
        lambda _: _ProtobufCodec(message),
        identify=lambda: identity_of(described.DESCRIPTOR, "Protobuf"),
    )
