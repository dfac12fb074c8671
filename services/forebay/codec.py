"""The interface of codecs, which convert records to bytes and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class DecodeError(Exception):
    """The bytes can't be decoded. The record goes to `.errors`. The same bytes always raise the same error."""


class EncodeError(Exception):
    """The record can't be encoded: a field has a wrong type or is missing, or the record is too large."""


class Unavailable(Exception):
    """An external system, such as the registry, can't be reached. The commit fails and is retried."""


class Codec(Protocol[T]):
    """Encodes and decodes records of one type.

    Both methods raise Unavailable if an external system can't be reached. The commit then fails and is retried.
    """

    def encode(self, record: T) -> bytes:
        """Return the record as bytes. Raise EncodeError if it can't be encoded."""
        ...

    def decode(self, data: bytes) -> T:
        """Return the record of the bytes. Raise DecodeError if they can't be decoded."""
        ...


def registering(codec: Any) -> Callable[[], object] | None:
    """Return the function that registers the codec's schema, or None if the codec has no schema.

    A codec whose bytes contain a schema id has this function as the attribute `register`.
    """
    return getattr(codec, "register", None)


def is_frozen(codec: Any) -> bool:
    """Return whether the values that a codec returns are immutable and can be shared.

    A codec declares this with the attribute `is_frozen`. Without the attribute, its values may be mutable.
    """
    return bool(getattr(codec, "is_frozen", False))


def canonical_of(codec: Codec[T]) -> Callable[[T], T] | None:
    """Return the function from a value to the value that is read back after it was written.

    None: every value is read back unchanged, which only a codec with `is_frozen` can guarantee. If encoding may change
    a value (a whole number in a double), the codec has the function as the attribute `canonical`.
    """
    if is_frozen(codec):
        canonical: Callable[[T], T] | None = getattr(codec, "canonical", None)
        return canonical
    # A codec without `is_frozen` may decode a value that differs from the encoded one, so encode and decode each value.
    encode, decode = codec.encode, codec.decode
    return lambda value: decode(encode(value))
