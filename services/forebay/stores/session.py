"""The session store of a task: values by key and session bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, Store, TaskStores, checked_ms
from forebay.stores.keys import FOREVER, WIDTH, after, encode_key, pack_time, split_text, terminate, unpack_time
from forebay.stores.layout import BEHIND_TWO_TIMES, FIRST_PART, OWN
from forebay.stores.purge import Purge, step_of
from forebay.stores.rows import Rows
from forebay.stores.scans import text_bounds
from forebay.stores.values import PRESENT, BytesCodec
from forebay.time.durations import Duration

V = TypeVar("V")

_LATEST = b"latest"
_BEGINNING = -(1 << 62)


class SessionEntry(NamedTuple, Generic[V]):
    """One session. `start` and `end` are the timestamps (ms) of its first and last record, both inclusive."""

    key: str
    start: int
    end: int
    value: V


class SessionStore(Store[V]):
    """A store with values by key and session, which are retained relative to the latest session end.

    A session is visible if its end is later than the latest end minus `retention_ms`. A put of a session that would not
    be visible is refused and counted in `dropped_total`. Later puts delete expired rows, a limited number at a time and
    at least one ms late, because a session that has just expired may still be open.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        retention_ms: Retention, at least the gap of the sessions plus their grace.
    """

    kind = "session"
    key_places = MappingProxyType({OWN: FIRST_PART, "ends": BEHIND_TWO_TIMES})
    limits = ("retention_ms",)

    def __init__(self, name: str, value: type[V] | Format[V], *, retention_ms: Duration) -> None:
        super().__init__(name, value)
        self.retention_ms = checked_ms(name, "retention_ms", retention_ms, 1)
        self.dropped_total = 0
        self._rows: Rows[V] = self._unbound()
        self._by_end: Rows[bytes] = self._unbound()
        self.marks: Marks = self._unbound()
        self._purge: Purge = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, codec)
        self._by_end = task.internal(self.name, "ends", BytesCodec())
        self.marks = task.marks(self.name)
        self._purge = Purge(self._by_end, self.marks, step_of(self.retention_ms), self._remove_indexed)

    def put(self, key: str, start: int, end: int, value: V | None, open_from: int = FOREVER) -> bool:
        """Set the value of a session. None deletes it.

        Args:
            key: Key of the session.
            start: Timestamp of its first record, in ms.
            end: Timestamp of its last record, in ms.
            value: New value, or None.
            open_from: Sessions that end at this time or later are accepted regardless of the retention.

        Returns:
            Whether the session was accepted.
        """
        prefix = terminate(encode_key(self.name, key))
        if start > end:
            raise ValueError(f"store {self.name}: a session of {key!r} from {start} to {end} ends before it starts")
        if not self._accepts(end, open_from):
            return False
        # The end comes first, because sessions are searched by their end, and expire by it.
        bounds = pack_time(end) + pack_time(start)
        row, index = prefix + bounds, bounds + prefix
        if value is None:
            self._remove(row, index)
        else:
            self._check_value(value)
            if self._rows.get(row) is None:
                self._by_end.put(index, PRESENT)
            self._rows.put(row, value)
        self._purge_expired()
        return True

    def merge(
        self,
        key: str,
        absorbed: Sequence[SessionEntry[V]],
        start: int,
        end: int,
        value: V | None,
        open_from: int = FOREVER,
    ) -> bool:
        """Replace the sessions in `absorbed`, which must exist, by one session.

        Args:
            key: Key of the sessions.
            absorbed: Sessions to delete.
            start: Timestamp of the new session's first record, in ms.
            end: Timestamp of the new session's last record, in ms.
            value: Value of the new session. None only deletes.
            open_from: As in `put`.

        Returns:
            Whether the new session was accepted. If not, nothing changes.
        """
        if not self._accepts(end, open_from):
            return False
        if value is not None:
            self._check_value(value)
        prefix, bounds = terminate(encode_key(self.name, key)), pack_time(end) + pack_time(start)
        is_new = value is not None
        for entry in absorbed:
            old = pack_time(entry.end) + pack_time(entry.start)
            if old == bounds and value is not None:
                # The new session has the same key, so the row is replaced below and must not be deleted here.
                is_new = False
            else:
                self._rows.put(prefix + old, None)
                self._by_end.put(old + prefix, None)
        if is_new:
            self._by_end.put(bounds + prefix, PRESENT)
        if value is not None:
            self._rows.put(prefix + bounds, value)
        self._purge_expired()
        return True

    def remove(self, key: str, start: int, end: int) -> None:
        """Delete a session if it exists."""
        prefix, bounds = terminate(encode_key(self.name, key)), pack_time(end) + pack_time(start)
        self._remove(prefix + bounds, bounds + prefix)

    def fetch_session(self, key: str, start: int, end: int, open_from: int = FOREVER) -> V | None:
        """Return the value of the session with exactly this start and end, or None.

        Args:
            key: Key of the session.
            start: Timestamp of its first record, in ms.
            end: Timestamp of its last record, in ms.
            open_from: Sessions that end at this time or later are visible regardless of the retention.
        """
        prefix = terminate(encode_key(self.name, key))
        if end < min(self._visible(_BEGINNING), open_from):
            return None
        return self._rows.get(prefix + pack_time(end) + pack_time(start))

    def fetch(self, key: str) -> Iterator[SessionEntry[V]]:
        """Return all sessions of `key`, sorted by end and then by start."""
        return self.find_sessions(key, _BEGINNING, FOREVER)

    def backward_fetch(self, key: str) -> Iterator[SessionEntry[V]]:
        """Return the results of `fetch` in reverse order."""
        return self.backward_find_sessions(key, _BEGINNING, FOREVER)

    def find_sessions(
        self, key: str, earliest_end: int, latest_start: int, open_from: int = FOREVER
    ) -> Iterator[SessionEntry[V]]:
        """Return the sessions of `key` with end >= earliest_end and start <= latest_start, by end, then start.

        Args:
            key: Key of the sessions.
            earliest_end: Lower bound of the end, in ms.
            latest_start: Upper bound of the start, in ms.
            open_from: Sessions that end at this time or later are visible regardless of the retention.
        """
        return self._entries(key, latest_start, self._rows.scan(*self._bounds(key, earliest_end, open_from)))

    def backward_find_sessions(self, key: str, earliest_end: int, latest_start: int) -> Iterator[SessionEntry[V]]:
        """Return the results of `find_sessions` in reverse order."""
        return self._entries(key, latest_start, self._rows.scan_reverse(*self._bounds(key, earliest_end, FOREVER)))

    def find_sessions_key_range(
        self, key_from: str | None, key_to: str | None, earliest_end: int, latest_start: int
    ) -> Iterator[SessionEntry[V]]:
        """Return sessions as `find_sessions` does, for all keys in [key_from, key_to], sorted by end, start and key.

        None as a bound leaves the range open.
        """
        return iter(self._key_range(key_from, key_to, earliest_end, latest_start))

    def backward_find_sessions_key_range(
        self, key_from: str | None, key_to: str | None, earliest_end: int, latest_start: int
    ) -> Iterator[SessionEntry[V]]:
        """Return the results of `find_sessions_key_range` in reverse order."""
        return reversed(self._key_range(key_from, key_to, earliest_end, latest_start))

    def fetch_key_range(self, key_from: str | None, key_to: str | None) -> Iterator[SessionEntry[V]]:
        """Return all sessions of keys in [key_from, key_to], sorted by end, start and key.

        None as a bound leaves the range open.
        """
        return self.find_sessions_key_range(key_from, key_to, _BEGINNING, FOREVER)

    def backward_fetch_key_range(self, key_from: str | None, key_to: str | None) -> Iterator[SessionEntry[V]]:
        """Return the results of `fetch_key_range` in reverse order."""
        return self.backward_find_sessions_key_range(key_from, key_to, _BEGINNING, FOREVER)

    def find_sessions_by_end(
        self, earliest_end: int, latest_end: int, open_from: int = FOREVER
    ) -> Iterator[SessionEntry[V]]:
        """Yield the sessions of all keys with earliest_end <= end <= latest_end, sorted by end, start and key.

        Args:
            earliest_end: Lower bound of the end, in ms.
            latest_end: Upper bound of the end, in ms.
            open_from: As in `find_sessions`.
        """
        low = max(earliest_end, min(self._visible(_BEGINNING), open_from))
        for row, _ in self._by_end.scan(pack_time(low), after(pack_time(latest_end))):
            bounds, prefix = row[: 2 * WIDTH], row[2 * WIDTH :]
            value = self._rows.get(prefix + bounds)
            assert value is not None, f"store {self.name}: an index row without its session"
            yield SessionEntry(split_text(prefix)[0], unpack_time(bounds, WIDTH), unpack_time(bounds), value)

    def first_end(self, earliest_end: int) -> int | None:
        """Return the smallest end >= `earliest_end` of any stored session, visible or not, or None."""
        for row, _ in self._by_end.scan(pack_time(earliest_end), None):
            return unpack_time(row)
        return None

    def all(self) -> Iterator[SessionEntry[V]]:
        """Return all sessions, sorted by end, start and key."""
        return self.find_sessions_by_end(_BEGINNING, FOREVER)

    def adapt(self) -> None:
        self._purge.restart()

    def _accepts(self, end: int, open_from: int) -> bool:
        latest = self.marks.get(_LATEST, _BEGINNING)
        if end > latest:
            self.marks.set(_LATEST, end)
        # `open_from` takes precedence over the retention. A session that can still grow must be stored even if the
        # latest end is far ahead.
        elif end <= latest - self.retention_ms and end < open_from:
            self.dropped_total += 1
            return False
        return True

    def _purge_expired(self) -> None:
        self._purge.run(self.marks.get(_LATEST, _BEGINNING) - self.retention_ms - 1)

    def _remove(self, row: bytes, index: bytes) -> None:
        if self._rows.get(row) is not None:
            self._rows.put(row, None)
            self._by_end.put(index, None)

    def _remove_indexed(self, index: bytes) -> None:
        self._remove(index[2 * WIDTH :] + index[: 2 * WIDTH], index)

    def _visible(self, earliest_end: int) -> int:
        return max(earliest_end, self.marks.get(_LATEST, _BEGINNING) - self.retention_ms + 1)

    def _bounds(self, key: str, earliest_end: int, open_from: int) -> tuple[bytes, bytes]:
        prefix = terminate(encode_key(self.name, key))
        # An open session is visible even if its end is older than the retention, because it may still grow.
        low = max(earliest_end, min(self._visible(_BEGINNING), open_from))
        return prefix + pack_time(low), after(prefix)

    def _entries(self, key: str, latest_start: int, rows: Iterator[tuple[bytes, V]]) -> Iterator[SessionEntry[V]]:
        for row, value in rows:
            at = len(row) - 2 * WIDTH
            start = unpack_time(row, at + WIDTH)
            if start <= latest_start:
                yield SessionEntry(key, start, unpack_time(row, at), value)

    def _key_range(
        self, key_from: str | None, key_to: str | None, earliest_end: int, latest_start: int
    ) -> list[SessionEntry[V]]:
        visible, entries = self._visible(earliest_end), []
        for row, value in self._rows.scan(*text_bounds(self.name, key_from, key_to)):
            key, at = split_text(row)
            end, start = unpack_time(row, at), unpack_time(row, at + WIDTH)
            if end >= visible and start <= latest_start:
                entries.append(SessionEntry(key, start, end, value))
        return sorted(entries, key=lambda entry: (entry.end, entry.start, entry.key.encode()))
