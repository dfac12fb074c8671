"""PySpark's value, list and map states on a task's stores. Each call reads or writes rows of the task's own table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor import ListState, MapState, ValueState

from forebay.stateful.formats import MapKeys
from forebay.stateful.stores import StateRows
from forebay.stores.keys import terminate


class Grouping:
    """The grouping key of the current call. It is None between calls."""

    __slots__ = ("key", "prefix", "text")

    def __init__(self) -> None:
        self.text: str | None = None
        self.key: bytes | None = None
        self.prefix = b""

    def begin(self, text: str) -> None:
        """Begin a call for a grouping key, specified by its row text."""
        if text != self.text:
            self.text, self.key = text, text.encode()
            self.prefix = terminate(self.key)

    def end(self) -> None:
        """End the call."""
        self.text = self.key = None

    def require(self) -> bytes:
        """Return the key's bytes. Raises PySparkRuntimeError outside of a call."""
        if self.key is None:
            raise PySparkRuntimeError(
                "state was used where there is no grouping key: use it in handleInputRows, handleExpiredTimer and "
                "handleInitialState only"
            )
        return self.key

    def require_prefix(self) -> bytes:
        """Return the prefix of the row keys of list elements and map entries. Raises as `require`."""
        self.require()
        return self.prefix


class TaskValueState(ValueState):
    """A value for each grouping key."""

    def __init__(self, grouping: Grouping, rows: StateRows) -> None:
        self._grouping, self._rows = grouping, rows

    def exists(self) -> bool:
        return self._rows.row(self._grouping.key or self._grouping.require()) is not None

    def get(self) -> Any:
        return self._rows.row(self._grouping.key or self._grouping.require())

    def update(self, newValue: Any) -> None:
        if newValue is None:
            raise PySparkRuntimeError("a value state can't be updated with None: call clear() to remove the value")
        self._rows.put_row(self._grouping.key or self._grouping.require(), newValue)

    def clear(self) -> None:
        self._rows.put_row(self._grouping.require(), None)


class TaskListState(ListState):
    """A list for each grouping key. Each element is a row, so that appending writes one row to a list of any length."""

    def __init__(self, grouping: Grouping, rows: StateRows) -> None:
        self._grouping, self._rows = grouping, rows

    def exists(self) -> bool:
        return next(self._rows.rows_of(self._grouping.require_prefix()), None) is not None

    def get(self) -> Iterator[Any]:
        return iter([value for _, value in self._rows.rows_of(self._grouping.require_prefix())])

    def put(self, newState: list[Any]) -> None:
        # Overwrite the rows of the previous elements, because deleting them first would write more rows.
        new = iter(_elements(newState))
        for row, _ in list(self._rows.rows_of(self._grouping.require_prefix())):
            self._rows.put_row(row, next(new, None))
        for value in new:
            self.appendValue(value)

    def appendValue(self, newState: Any) -> None:
        _elements([newState])
        row = self._grouping.require_prefix() + b"%016x" % self._rows.next_number()
        self._rows.put_row(row, newState)

    def appendList(self, newState: list[Any]) -> None:
        for value in _elements(newState):
            self.appendValue(value)

    def clear(self) -> None:
        for row, _ in list(self._rows.rows_of(self._grouping.require_prefix())):
            self._rows.put_row(row, None)


class TaskMapState(MapState):
    """A map for each grouping key, with one row per entry. Entries are returned in the order of the keys' JSON text."""

    def __init__(self, grouping: Grouping, rows: StateRows, keys: MapKeys) -> None:
        self._grouping, self._rows, self._keys = grouping, rows, keys

    def _row(self, key: Any) -> bytes:
        return self._grouping.require_prefix() + self._keys.text_of(key)

    def exists(self) -> bool:
        return next(self._rows.rows_of(self._grouping.require_prefix()), None) is not None

    def getValue(self, key: Any) -> Any:
        return self._rows.row(self._row(key))

    def containsKey(self, key: Any) -> bool:
        return self._rows.row(self._row(key)) is not None

    def updateValue(self, key: Any, value: Any) -> None:
        if value is None:
            raise PySparkRuntimeError("a map's value can't be None: call removeKey() to remove the entry")
        self._rows.put_row(self._row(key), value)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        prefix = self._grouping.require_prefix()
        cut, key_of = len(prefix), self._keys.key_of
        return iter([(key_of(row[cut:]), value) for row, value in self._rows.rows_of(prefix)])

    def keys(self) -> Iterator[Any]:
        return iter([key for key, _ in self.iterator()])

    def values(self) -> Iterator[Any]:
        return iter([value for _, value in self._rows.rows_of(self._grouping.require_prefix())])

    def removeKey(self, key: Any) -> None:
        self._rows.put_row(self._row(key), None)

    def clear(self) -> None:
        for row, _ in list(self._rows.rows_of(self._grouping.require_prefix())):
            self._rows.put_row(row, None)


def _elements(values: Any) -> Any:
    if any(value is None for value in values):
        raise PySparkRuntimeError("a list state can't hold None: use a column that may be null")
    return values
