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
    """Something outside (a registry, a network) can't be reached: the batch fails and is tried again."""


class Codec(Protocol[T]):
    """Turns records of one type into bytes and back (here: Avro in Confluent framing).

    Both raise Unavailable for what may work later: the batch then fails and is tried again.
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


def canonical_of(codec: Codec[T]) -> Callable[[T], T] | None:
    """Return the function from a record to what is read back once it was written; None: always the record itself.

    A codec whose records may change on the way (a whole number in a double) has it as `canonical`.
    """
    canonical: Callable[[T], T] | None = getattr(codec, "canonical", None)
    return canonical
