"""A format of Protobuf values, for classes that `protoc` generated. It needs the package `protobuf`."""

from __future__ import annotations

from typing import Any, TypeVar

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format
from forebay.serde.proto_identity import identity_of

T = TypeVar("T")


class _ProtobufCodec:
    """Codec of Protobuf messages. It sorts maps by key, so that equal messages have equal bytes in this process."""

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
    """Return the format of a generated message class. It is not for keys, because other writers' bytes may differ.

    Messages are mutable, so a store keeps their bytes. Each get returns a new message. A change of a message has no
    effect until the message is put.
    """
    described: Any = message
    return Format(
        f"Protobuf {message.__name__}",
        message,
        lambda _: _ProtobufCodec(message),
        identify=lambda: identity_of(described.DESCRIPTOR, "Protobuf"),
    )
