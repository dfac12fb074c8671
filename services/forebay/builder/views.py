"""Views in which the rows of tables are looked up, if the tables store none or if their stores are windowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.keys import split_row
from forebay.operators.results import Emission
from forebay.operators.session import OPEN_FROM
from forebay.operators.table import TableView
from forebay.operators.window import CLOSED
from forebay.stores.keys import FOREVER
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore

View = TableView[Any]
Predicate = Callable[[str, Any], bool]
Mapper = Callable[[str, Any], Any]


class Computed:
    """A view of rows that are computed when they are looked up.

    Args:
        former: See `Bound.former`.
    """

    def __init__(self, rows: View, former: Callable[..., Any]) -> None:
        self._compute = rows.get
        self._former = former

    def get(self, key: str) -> Stamped[Any] | None:
        row: Stamped[Any] | None = self._former(self._compute, key)
        return row


class Filtered:
    """A view of the rows for which a predicate is true."""

    def __init__(self, rows: View, keeps: Predicate) -> None:
        self._rows = rows
        self._keeps = keeps

    def get(self, key: str) -> Stamped[Any] | None:
        row = self._rows.get(key)
        return row if row is not None and self._keeps(key, row.value) else None


class Mapped:
    """A view of the rows with mapped values."""

    def __init__(self, rows: View, mapper: Mapper) -> None:
        self._rows = rows
        self._mapper = mapper

    def get(self, key: str) -> Stamped[Any] | None:
        row = self._rows.get(key)
        value = None if row is None else self._mapper(key, row.value)
        # If the mapper returns None, there is no row.
        return None if row is None or value is None else Stamped(value, row.timestamp)


class InWindows:
    """A view of the rows of a window store, by key and window.

    Args:
        is_final: Whether a row is visible only after the final result of its window was emitted.
    """

    def __init__(self, store: WindowStore[Any], *, is_final: bool = False) -> None:
        self._store = store
        self._is_final = is_final

    def get(self, key: str) -> Stamped[Any] | None:
        text, window = split_row(key)
        # The store contains open windows, too. A join must not see a row that the table has not emitted yet.
        if self._is_final and window.start > self._store.marks.get(CLOSED):
            return None
        entry = self._store.fetch_one(text, window.start)
        return None if entry is None else Stamped(entry.value, entry.timestamp)


class InSessions:
    """A view of the rows of a session store, by key and session.

    Args:
        emission: When the results of the sessions are emitted. With FINAL, a row is visible only after that.
    """

    def __init__(self, store: SessionStore[Any], emission: Emission) -> None:
        self._store = store
        self._emission = emission

    def get(self, key: str) -> Stamped[Any] | None:
        text, window = split_row(key)
        if self._emission is Emission.FINAL and window.end >= self._store.marks.get(OPEN_FROM, FOREVER):
            return None
        # The store hides a session 1 ms before it closes, so it would not be seen when its final result is emitted.
        visible_from = FOREVER if self._emission is Emission.UPDATES else window.end
        session = self._store.fetch_session(text, window.start, window.end, visible_from)
        return None if session is None else Stamped(session, window.end)


class Timeless:
    """A view of the rows of a global table, which have no timestamps."""

    def __init__(self, store: KeyValueStore[Any]) -> None:
        self._store = store

    def get(self, key: str) -> Stamped[Any] | None:
        value = self._store.get(key)
        # A timestamp of -1 never is the later of two timestamps.
        return None if value is None else Stamped(value, -1)


class AsOf:
    """Rows without versions, as the table of a stream-table join. A record is joined with the current row."""

    history_retention_ms: int | None = None

    def __init__(self, name: str, rows: View) -> None:
        self.name = name
        self.get = rows.get

    def update(self, key: str, value: Any, timestamp: int) -> None:
        raise TypeError(f"{self.name} is derived from other tables: update those instead")

    def get_as_of(self, key: str, timestamp: int) -> Any:
        row = self.get(key)
        return None if row is None else row.value
