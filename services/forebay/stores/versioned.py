"""The versioned key-value store of a task, which stores all versions of a value for a retention."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, RowValue, Store, TaskStores, checked_ms
from forebay.stores.keys import FOREVER, WIDTH, after, encode_key, pack_time, split_text, terminate, unpack_time
from forebay.stores.layout import BEHIND_A_TIME, FIRST_PART, OWN
from forebay.stores.purge import Purge
from forebay.stores.rows import Rows
from forebay.stores.values import PRESENT, BytesCodec, Held, HeldCodec, NumberCodec
from forebay.time.durations import Duration

V = TypeVar("V")

log = logging.getLogger(__name__)

SHORTEST_SEGMENT_MS = 60_000

_STREAM_TIME = b"stream-time"
_BEGINNING = -(1 << 62)


class NotPut(Enum):
    """The result of `put` if the version was too old to be stored."""

    NOT_PUT = "not put"


NOT_PUT = NotPut.NOT_PUT


@dataclass(frozen=True, slots=True)
class Put:
    """The result of `put` if the version was stored: the end (ms) of its validity, or None if it is the latest."""

    valid_to: int | None


class Order(Enum):
    """Order in which versions are returned."""

    NEWEST_FIRST = "newest first"
    OLDEST_FIRST = "oldest first"


class Version(NamedTuple, Generic[V]):
    """A value that is valid from `timestamp` (ms) until just before `valid_to` (ms; None: still valid)."""

    value: V
    timestamp: int
    valid_to: int | None


class VersionedKeyValueStore(Store[V]):
    """A store with values by key and timestamp, which can be read as of a time.

    The stream time of the store is the largest timestamp that was put. Puts that are older than stream time minus the
    history retention are refused, and reads as of such a time see only a key's latest version. Versions are deleted one
    to two segments after they expire; a segment is half the retention and at least one minute.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        history_retention_ms: How long old versions can be read. 0 stores only the latest versions.
    """

    row_value = RowValue.HELD
    kind = "versioned"
    key_places = MappingProxyType({OWN: FIRST_PART, "segments": BEHIND_A_TIME, "latest": FIRST_PART})
    limits = ("history_retention_ms",)

    def __init__(self, name: str, value: type[V] | Format[V], *, history_retention_ms: Duration) -> None:
        super().__init__(name, value)
        self.history_retention_ms = checked_ms(name, "history_retention_ms", history_retention_ms, 0)
        self.dropped_total = 0
        self._segment_ms = max(SHORTEST_SEGMENT_MS, self.history_retention_ms // 2)
        self._rows: Rows[Held[V]] = self._unbound()
        self._segments: Rows[bytes] = self._unbound()
        self._latest: Rows[int] = self._unbound()
        self._marks: Marks = self._unbound()
        self._purge: Purge = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, HeldCodec(codec))
        self._segments = task.internal(self.name, "segments", BytesCodec())
        self._latest = task.internal(self.name, "latest", NumberCodec())
        self._marks = task.marks(self.name)
        # The times of this index are segment numbers, so a step is one segment.
        self._purge = Purge(self._segments, self._marks, 1, self._purge_indexed)

    @property
    def stream_time(self) -> int:
        """Largest timestamp that was put, in ms; -1 before the first put."""
        return self._marks.get(_STREAM_TIME)

    def put(self, key: str, value: V | None, timestamp: int) -> Put | NotPut:
        """Store a version. A value of None is a tombstone.

        A version is accepted if its timestamp is at least stream time minus the history retention.

        Returns:
            The end of the version's validity, or NotPut if it was refused.
        """
        result = self.restore(key, value, timestamp)
        if result is NOT_PUT:
            self.dropped_total += 1
        return result

    def put_row(self, key: str, value: V | None, timestamp: int) -> Put | NotPut:
        """Store a version of another table's row, as `put` does. It is also accepted if the key has no later version.

        The other table has accepted the version. If this store refused a row that is still valid there, because its
        other rows are newer, it would lack the row.
        """
        return self._put(key, value, timestamp) if self.is_latest(key, timestamp) else self.put(key, value, timestamp)

    def is_latest(self, key: str, timestamp: int) -> bool:
        """Return whether the key has no version with a later timestamp."""
        latest = self._latest.get(terminate(encode_key(self.name, key)))
        return latest is None or timestamp >= latest

    def late_by(self, timestamp: int) -> int:
        """Return by how many ms a timestamp is older than the history. `put` accepts 0 and less."""
        return self.stream_time - self.history_retention_ms - timestamp

    def restore(self, key: str, value: V | None, timestamp: int) -> Put | NotPut:
        """Put a record of the changelog. The same rules hold, but refused versions are not counted."""
        self._check(key, timestamp)
        # A refused version changes nothing. In particular, it does not advance stream time.
        return NOT_PUT if self.late_by(timestamp) > 0 else self._put(key, value, timestamp)

    def _check(self, key: str, timestamp: int) -> bytes:
        """Return the prefix of a key's rows. Raise ValueError if the key or the timestamp can't be stored."""
        prefix = terminate(encode_key(self.name, key))
        if timestamp < 0:
            raise ValueError(f"store {self.name}: the timestamp {timestamp} of {key!r} is negative")
        return prefix

    def _put(self, key: str, value: V | None, timestamp: int) -> Put:
        prefix = self._check(key, timestamp)
        stream_time = self.stream_time
        if value is not None:
            self._check_value(value)
        self._rows.put(prefix + pack_time(timestamp), Held(value))
        latest = self._latest.get(prefix)
        # The latest timestamp has a row, so that a read of the latest version needs no scan.
        if latest is None or timestamp > latest:
            self._latest.put(prefix, timestamp)
        # The purge may be past the segment of a version that is older than the history.
        self._mark(prefix, max(timestamp, stream_time - self.history_retention_ms))
        if timestamp > stream_time:
            self._marks.set(_STREAM_TIME, timestamp)
        self._purge.run(self._last_past(max(stream_time, timestamp)))
        return Put(None if latest is None or timestamp >= latest else self._next(prefix, timestamp))

    def get(self, key: str, as_of: int | None = None) -> Version[V] | None:
        """Return the version that is valid at `as_of` (ms, inclusive; None: the latest), or None."""
        prefix = terminate(encode_key(self.name, key))
        latest = self._latest.get(prefix)
        if latest is None:
            return None
        if as_of is None or as_of >= latest:
            held = self._rows.get(prefix + pack_time(latest))
            return None if held is None or held.value is None else Version(held.value, latest, None)
        # Versions at this time may or may not have been purged. The result must not depend on this.
        if self._is_past_history(as_of):
            return None
        return next(self._versions(prefix, as_of, as_of), None)

    def get_range(
        self,
        key: str,
        time_from: int | None = None,
        time_to: int | None = None,
        order: Order = Order.NEWEST_FIRST,
    ) -> Iterator[Version[V]]:
        """Return the versions whose validity overlaps [time_from, time_to].

        Args:
            key: Key of the versions.
            time_from: Lower bound in ms, inclusive. None: open.
            time_to: Upper bound in ms, inclusive. None: open.
            order: Order by timestamp in which to return them.
        """
        low = _BEGINNING if time_from is None else time_from
        high = FOREVER if time_to is None else time_to
        if low > high:
            log.warning(
                "store %s: the range of versions from %d to %d is empty: from is later than to", self.name, low, high
            )
            return iter(())
        versions = self._versions(terminate(encode_key(self.name, key)), low, high)
        if self._is_past_history(high):
            # As in `get`. Of the versions that are past the history, only the latest one is never purged.
            versions = (version for version in versions if version.valid_to is None)
        return versions if order is Order.NEWEST_FIRST else reversed(list(versions))

    def keys_after(self, key: str | None) -> Iterator[str]:
        """Return the keys after a key, in order. None: from the first key on."""
        start = b"" if key is None else after(terminate(encode_key(self.name, key)))
        return (split_text(row)[0] for row, _ in self._latest.scan(start, None))

    def history(self) -> Iterator[tuple[str, V | None, int]]:
        """Return all versions and tombstones (None) with keys and timestamps, by key and then from old to new."""
        return ((split_text(row)[0], held.value, _timestamp(row)) for row, held in self._rows.scan(b"", None))

    def delete(self, key: str, timestamp: int) -> Version[V] | None:
        """Store a tombstone at `timestamp`. Return the version that was valid then, or None.

        A tombstone that is too old changes nothing.
        """
        prefix = terminate(encode_key(self.name, key))
        # Read it before the tombstone ends its validity.
        previous = next(self._versions(prefix, timestamp, timestamp), None)
        return None if self.put(key, None, timestamp) is NOT_PUT else previous

    def _is_past_history(self, time: int) -> bool:
        return time < self.stream_time - self.history_retention_ms

    def _next(self, prefix: bytes, timestamp: int) -> int | None:
        """Return the timestamp of the key's next version or tombstone, or None."""
        row = next(self._rows.scan(prefix + pack_time(timestamp + 1), after(prefix)), None)
        return None if row is None else _timestamp(row[0])

    def _versions(self, prefix: bytes, low: int, high: int) -> Iterator[Version[V]]:
        # The first version of the range ends where the next one begins, which may be after the range.
        valid_to = self._next(prefix, high)
        for row, held in self._rows.scan_reverse(prefix, after(prefix + pack_time(high))):
            if valid_to is not None and valid_to <= low:
                return
            timestamp = _timestamp(row)
            if held.value is not None:
                yield Version(held.value, timestamp, valid_to)
            valid_to = timestamp

    def _mark(self, prefix: bytes, timestamp: int) -> None:
        """Record in the index that the key must be purged once the timestamp's segment is past the history."""
        row = pack_time(timestamp // self._segment_ms) + prefix
        # One index row serves all versions of the key in a segment.
        if self._segments.get(row) is None:
            self._segments.put(row, PRESENT)

    def _purge_indexed(self, row: bytes) -> None:
        self._segments.put(row, None)
        self._purge_key(row[WIDTH:], (unpack_time(row) + 1) * self._segment_ms)

    def _last_past(self, stream_time: int) -> int:
        """Return the last segment that ended at least one segment before the history begins."""
        return (stream_time - self.history_retention_ms) // self._segment_ms - 2

    def _purge_key(self, prefix: bytes, end: int) -> None:
        """Delete the key's versions whose validity ended before `end`, and its last tombstone before `end`."""
        rows = list(self._rows.scan(prefix, after(prefix + pack_time(end - 1))))
        # Each of these was followed by another version before `end`, so its validity ended. The last one is still valid
        # at `end`. A tombstone can be deleted, because a missing row has the same meaning.
        for row, _ in rows[:-1]:
            self._rows.put(row, None)
        if rows and rows[-1][1].value is None:
            self._rows.put(rows[-1][0], None)
            # If a newer version was put since, it must remain the latest.
            if self._latest.get(prefix) == _timestamp(rows[-1][0]):
                self._latest.put(prefix, None)


def _timestamp(row: bytes) -> int:
    return unpack_time(row, len(row) - WIDTH)
