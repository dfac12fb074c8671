"""The window store of a task: values by key and window start."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, RowValue, Store, TaskStores, checked_ms
from forebay.stores.keys import WIDTH, encode_key, pack_time, terminate
from forebay.stores.layout import BEHIND_A_TIME, FIRST_PART, OWN
from forebay.stores.purge import Purge, step_of
from forebay.stores.rows import Rows
from forebay.stores.values import PRESENT, BytesCodec, Stamped, StampedCodec
from forebay.stores.window_reads import BEGINNING, LATEST, ONLY, Duplicates, WindowReads
from forebay.time.base import Window
from forebay.time.durations import Duration

V = TypeVar("V")

_PUTS = b"puts"


class WindowStore(Store[V], WindowReads[V]):
    """A store with values by key and window start, which are retained relative to the latest window start.

    An entry is visible if its start is later than the latest start minus `retention_ms`. A put of an entry that would
    not be visible is refused and counted in `dropped_total`. Later puts delete expired rows, a limited number at a
    time.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        size_ms: Length of a window, or of the longest window.
        retention_ms: Retention, at least the length of a window.
        window_from: Function that returns the window that starts at a time (ms). By default, its length is `size_ms`.
    """

    row_value = RowValue.STAMPED
    kind = "window"
    key_places = MappingProxyType({OWN: FIRST_PART, "starts": BEHIND_A_TIME})
    fixed = ("size_ms", "duplicates")
    limits = ("retention_ms",)

    def __init__(
        self,
        name: str,
        value: type[V] | Format[V],
        *,
        size_ms: Duration,
        retention_ms: Duration,
        duplicates: Duplicates = Duplicates.REPLACE,
        window_from: Callable[[int], Window] | None = None,
    ) -> None:
        super().__init__(name, value)
        self.size_ms = checked_ms(name, "size_ms", size_ms, 1)
        self.retention_ms = checked_ms(name, "retention_ms", retention_ms, 0)
        if self.retention_ms < self.size_ms:
            raise ValueError(
                f"store {name}: retention_ms {self.retention_ms} is shorter than its windows of {self.size_ms} ms; "
                f"specify at least the window's size plus its grace"
            )
        self.duplicates = duplicates
        self._window_from = window_from
        self.dropped_total = 0
        self._rows: Rows[Stamped[V]] = self._unbound()
        self._by_start: Rows[bytes] = self._unbound()
        self.marks: Marks = self._unbound()
        self._purge: Purge = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, StampedCodec(codec))
        self._by_start = task.internal(self.name, "starts", BytesCodec())
        self.marks = task.marks(self.name)
        self._purge = Purge(self._by_start, self.marks, step_of(self.retention_ms), self._remove_indexed)

    def put(self, key: str, value: V | None, start: int, timestamp: int | None = None) -> bool:
        """Set the value of a key and window start. None deletes it; with Duplicates.KEEP, None does nothing.

        Args:
            key: Key of the entry.
            value: New value, or None.
            start: Start of the window, in ms.
            timestamp: Time that is stored with the value; by default, `start`.

        Returns:
            Whether the entry was accepted.
        """
        # Check this before anything is written, because a put that is refused must not leave an index row.
        latest = self._latest_with(start)
        if latest is None:
            return False
        number = self._number(value)
        if number is not None:
            prefix, at = terminate(encode_key(self.name, key)), pack_time(start)
            row, index = prefix + at + number, at + prefix + number
            if value is None:
                self._remove(row, index)
            else:
                self._check_value(value)
                if self._rows.get(row) is None:
                    self._by_start.put(index, PRESENT)
                self._rows.put(row, Stamped(value, start if timestamp is None else timestamp))
        self._purge.run(latest - self.retention_ms)
        return True

    def update(
        self, key: str, start: int, timestamp: int, change: Callable[[V | None], V | None]
    ) -> Stamped[V | None] | None:
        """Set the value of a key and window start to a function of the present value (None: there is none).

        See `update_entry`.
        """
        return self.update_entry(key, start, timestamp, lambda entry: change(None if entry is None else entry.value))

    def update_entry(
        self, key: str, start: int, timestamp: int, change: Callable[[Stamped[V] | None], V | None]
    ) -> Stamped[V | None] | None:
        """Set the value of a key and window start to a function of the present value and its timestamp.

        The entry's timestamp is the largest one that it was updated with.

        Args:
            key: Key of the entry.
            start: Start of the window, in ms.
            timestamp: Timestamp of the update, in ms.
            change: Function of the present value and its timestamp (None: there is no entry) that returns the new
                value. None deletes the entry.

        Returns:
            The new value and timestamp, or None if the entry was refused.

        Raises:
            TypeError: The store keeps duplicates.
        """
        if self.duplicates is Duplicates.KEEP:
            raise TypeError(f"store {self.name} keeps duplicates: put another entry instead of changing one")
        latest = self._latest_with(start)
        if latest is None:
            return None
        prefix, at = terminate(encode_key(self.name, key)), pack_time(start)
        row = prefix + at + ONLY
        current = self._rows.get(row)
        value = change(current)
        if current is not None and current.timestamp > timestamp:
            timestamp = current.timestamp
        if value is not None:
            self._check_value(value)
            # An index row exists exactly as long as its entry. Scans by start and the purge rely on this.
            if current is None:
                self._by_start.put(at + prefix + ONLY, PRESENT)
            self._rows.put(row, Stamped(value, timestamp))
        elif current is not None:
            self._rows.put(row, None)
            self._by_start.put(at + prefix + ONLY, None)
        self._purge.run(latest - self.retention_ms)
        return Stamped(value, timestamp)

    def window_from(self, start: int) -> Window:
        """Return the window that starts at `start` (ms)."""
        if self._window_from is None:
            return Window(start, start + self.size_ms)
        return self._window_from(start)

    def adapt(self) -> None:
        self._purge.restart()

    def _latest_with(self, start: int) -> int | None:
        latest = self.marks.get(LATEST, BEGINNING)
        if start > latest:
            self.marks.set(LATEST, start)
            return start
        # Refuse the entry instead of only hiding it, because the purge relies on no row being added before its bound.
        if start <= latest - self.retention_ms:
            self.dropped_total += 1
            return None
        return latest

    def _number(self, value: V | None) -> bytes | None:
        if self.duplicates is Duplicates.REPLACE:
            return ONLY
        if value is None:
            return None
        # The counter is a row. It is rolled back with a record that fails, and a restart continues it.
        number = self.marks.get(_PUTS, 0)
        self.marks.set(_PUTS, number + 1)
        return pack_time(number)

    def _remove(self, row: bytes, index: bytes) -> None:
        if self._rows.get(row) is not None:
            self._rows.put(row, None)
            self._by_start.put(index, None)

    def _remove_indexed(self, index: bytes) -> None:
        rest = index[WIDTH:]
        # The index has the parts of a row's key in another order: the start comes first.
        self._rows.put(rest[:-WIDTH] + index[:WIDTH] + rest[-WIDTH:], None)
        self._by_start.put(index, None)
