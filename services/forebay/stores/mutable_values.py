"""Rows with mutable values, of which the task stores the bytes."""

from __future__ import annotations

from typing import Any, TypeVar

from forebay.codec import Codec, EncodeError, Unavailable
from forebay.limits.room import Room
from forebay.stores.rows import Journal, Rows, StateUnreadable, unreadable
from forebay.stores.table import Table
from forebay.stores.values import BytesCodec, StampedCodec

V = TypeVar("V")


class CopiedRows(Rows[V]):
    """Rows that are encoded at each put and decoded at each get.

    If logic changes an object that it put, or that the store returned, the row does not change. A get returns the value
    that a restarted task would read. The arguments are those of `Rows`.
    """

    def __init__(
        self, store: str, table: Table, codec: Codec[V], journal: Journal, cached: int, room: Room | None = None
    ) -> None:
        data: Codec[Any] = BytesCodec()
        super().__init__(store, table, data, journal, cached, room)
        self._is_stamped = isinstance(codec, StampedCodec)
        self._values = codec

    def get(self, key: bytes) -> V | None:
        data: Any = super().get(key)
        if data is None:
            return None
        try:
            return self._values.decode(data)
        except (Unavailable, MemoryError):
            raise
        except Exception as error:
            raise StateUnreadable(unreadable(self.store, key, error)) from error

    def put(self, key: bytes, value: V | None) -> None:
        if value is None:
            super().put(key, None)
            return
        try:
            data: Any = self._values.encode(value)
        except EncodeError as error:
            raise EncodeError(f"store {self.store}, key {key[:100]!r}: {error}") from error
        super().put(key, data)
