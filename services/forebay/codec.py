"""How records become bytes: the one door between logic and wire format."""

from __future__ import annotations

from typing import Protocol, TypeVar

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
        """Give the record's bytes. Raises EncodeError."""
        ...

    def decode(self, data: bytes) -> T:
        """Give the record. Raises DecodeError."""
        ...
