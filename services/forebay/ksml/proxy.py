"""The base of the access of functions to stores: typed keys, copies of values, ranges as iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from forebay.ksml.types import Type
from forebay.ksml.values import WrongType, giver_of, taker_of


class Entries(Iterator[Any]):
    """The entries of a range, as an iterator with Python's and Java's methods."""

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = iter(entries)
        self._ahead: list[Any] = []

    def __next__(self) -> Any:
        return self._ahead.pop() if self._ahead else next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hasNext(self) -> bool:
        """Return whether there is another entry."""
        if not self._ahead:
            for entry in self._entries:
                self._ahead.append(entry)
                break
        return bool(self._ahead)

    def next(self) -> Any:
        """Return the next entry, or None."""
        return next(self, None)

    def close(self) -> None:
        """Drop the remaining entries."""
        self._entries = iter(())
        self._ahead.clear()


class Proxy:
    """Converts a store's keys and values for functions.

    Args:
        key, value: types of keys and values.
        row, of_row: convert a key to its row text, and back.
    """

    def __init__(
        self, store: Any, key: Type, value: Type, row: Callable[[Any], str], of_row: Callable[[str], Any]
    ) -> None:
        self._store = store
        self._take_key, self._row, self._of_row = taker_of(key), row, of_row
        self._give, self._take = giver_of(value), taker_of(value)

    def name(self) -> str:
        """Return the store's name."""
        return str(self._store.name)

    def persistent(self) -> bool:
        """Return True: rows survive restarts."""
        return True

    def isOpen(self) -> bool:
        """Return True: the store can be used."""
        return True

    def flush(self) -> None:
        """Do nothing. Rows are sent with the commit."""

    def close(self) -> None:
        """Do nothing. The job closes the store."""

    def _text(self, key: Any) -> str:
        if key is None:
            raise WrongType(f"store {self._store.name}: a key is None: give one")
        return self._row(self._take_key(key))

    def _bound(self, key: Any) -> str | None:
        return None if key is None else self._text(key)

    def _out(self, value: Any) -> Any:
        return value if value is None or self._give is None else self._give(value)

    def _in(self, value: Any) -> Any:
        try:
            return self._take(value)
        except WrongType as error:
            raise WrongType(f"store {self._store.name}: {error}") from error
