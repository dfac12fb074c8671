"""The write methods that several key-value stores share."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Generic, TypeVar

V = TypeVar("V")


class KeyPuts(abc.ABC, Generic[V]):
    """Write methods that are implemented with `get` and `put`."""

    @abc.abstractmethod
    def get(self, key: str) -> V | None:
        """Return the value of `key`, or None."""

    @abc.abstractmethod
    def put(self, key: str, value: V | None) -> None:
        """Set the value of `key`. None deletes it."""

    def put_if_absent(self, key: str, value: V) -> V | None:
        """Set the value of `key` unless it has one. Return the existing value, or None."""
        previous = self.get(key)
        if previous is None:
            self.put(key, value)
        return previous

    def put_all(self, entries: Iterable[tuple[str, V | None]]) -> None:
        """Put each (key, value) in order."""
        for key, value in entries:
            self.put(key, value)
