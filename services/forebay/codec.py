"""How records become bytes: the one door between logic and wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class DecodeError(Exception):
    """These bytes can never be read: the record belongs into .errors. A pure function of the bytes."""


class EncodeError(Exception):
    """This record does not fit its contract: a wrong type, a missing field, too large."""


class Unavailable(Exception):
    """Something outside (a registry, a network) can't be reached: the commit fails and is retried."""


class Codec(Protocol[T]):
    """Turns records of one type into bytes and back (here: Avro in Confluent framing).

    Both raise Unavailable for what may work later: the commit then fails and is retried.
    """

    def encode(self, record: T) -> bytes:
        """Return the record's bytes. Raises EncodeError."""
        ...

    def decode(self, data: bytes) -> T:
        """Return the record. Raises DecodeError."""
        ...


def registering(codec: Any) -> Callable[[], object] | None:
    """Return what registers the schema that a codec writes under; None: it has none of its own.

    A codec whose bytes name a schema has it as `register`.
    """
    return getattr(codec, "register", None)


def is_frozen(codec: Any) -> bool:
    """Return whether a codec's values are immutable, so that they can be shared.

    A codec says so with the attribute `is_frozen`. A codec that says nothing may read objects that can be changed.
    """
    return bool(getattr(codec, "is_frozen", False))


def canonical_of(codec: Codec[T]) -> Callable[[T], T] | None:
    """Return the function from a value to the value that is read back after it was written.

    None: every value is read back as it was. Only a codec with `is_frozen` can say that. If its values may change on
    the way (a whole number in a double), it has the function as `canonical`.
    """
    if is_frozen(codec):
        canonical: Callable[[T], T] | None = getattr(codec, "canonical", None)
        return canonical
    # A codec that says nothing may return other values than it was given, so pass each value through it.
    encode, decode = codec.encode, codec.decode
    return lambda value: decode(encode(value))
