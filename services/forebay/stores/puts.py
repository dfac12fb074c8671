"""Writing to a key-value store: the part that its kinds share."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Generic, TypeVar

V = TypeVar("V")


class KeyPuts(abc.ABC, Generic[V]):
    """Puts that come down to get and put."""

    @abc.abstractmethod
    def get(self, key: str) -> V | None:
        """Return the value of `key`, or None."""

    @abc.abstractmethod
    def put(self, key: str, value: V | None) -> None:
        """Set `key` to `value`; None deletes it."""

    def put_if_absent(self, key: str, value: V) -> V | None:
        """Set `key` unless it has a value; give the value found, or None."""
        previous = self.get(key)
        if previous is None:
            self.put(key, value)
        return previous

    def put_all(self, entries: Iterable[tuple[str, V | None]]) -> None:
        """Put each entry in turn."""
        for key, value in entries:
            self.put(key, value)
