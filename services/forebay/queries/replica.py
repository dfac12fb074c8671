"""A replica of one task's stores as of the last commit, which many threads read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from forebay.codec import Codec, Unavailable
from forebay.queries.entries import Entry, changed_entry
from forebay.queries.reads import Bounds, reads_of
from forebay.queries.saved_rows import Mark, mark_of, stores_of
from forebay.queries.subscription import Change, Subscription
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog
from forebay.runtime.maintenance.follower import ChangelogsAnew, FollowedTask, Offsets
from forebay.runtime.protocol.position import TaskPosition
from forebay.stores.binding import Store, TaskStores
from forebay.stores.kinds import recorded_kind
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal
from forebay.stores.standby_tables import CopyTable
from forebay.stores.table import Table, prefix_end
from forebay.stores.upgrade import is_of_kind
from forebay.stores.values import BytesCodec

STORED = BytesCodec()
"""Returns a value's bytes without decoding."""

_AT_ONCE = 20_000
_MOST_AT_ONCE = 250_000
_ROWS_IN_A_PIECE = 200
_NOTE_SECONDS = 60.0
_CLOCKS_DIFFER_S = 60.0


class _Clock:
    """A task's time as of its last commit (implements `Clock`)."""

    def __init__(self) -> None:
        self.closing_time = -1


class TaskReplica(FollowedTask):
    """The replicated stores of one task. Every read returns the state as of one commit.

    Args:
        task: number of the task.
        log: changelogs of the task's sub-topology.
        codecs: codecs of the stores' records, by store.
        table: table for the rows; None: in memory.
        kept_s: how long the changelogs keep deletes, in seconds. A table in a file that was not updated for longer
            is rebuilt.
    """

    def __init__(
        self,
        task: int,
        log: SubTopologyLog,
        codecs: Mapping[str, Codec[Any]],
        table: CopyTable | None = None,
        kept_s: float = 0.0,
    ) -> None:
        super().__init__(log.rows())
        self._log = log
        self.task = task
        self.batch = -1
        self.is_current = False
        """Whether the replica contains everything that was committed at the last check."""
        self.ends: dict[tuple[str, int], int] = {}
        """Input offsets up to which the rows include all records."""
        self._job = ""
        self._position: TaskPosition | None = None
        self._early = 0
        self._stores: dict[str, Store[Any]] = {store.name: store for store in log.stores}
        self._codecs = codecs
        self._file = table
        self._table: Table = MemoryTable() if table is None else table
        self._clock = _Clock()
        self._lock = threading.RLock()
        self._subscriptions: list[Subscription] = []
        self._read_until: dict[Subscription, bytes] = {}
        """The begin of the next piece of rows, for subscriptions that have not received all rows yet."""
        self._noted = 0.0
        if table is not None:
            self._go_on(table, kept_s)

    def _go_on(self, table: CopyTable, kept_s: float) -> None:
        """Resume at the table's position; empty a table that can't be resumed."""
        now = time.time()
        # Accept only half of the retention, because the age is the difference of two clocks. A mark from the future is
        # not trusted.
        mark = mark_of(table, self._log, now - kept_s / 2)
        if mark is not None and mark.read_s > now + _CLOCKS_DIFFER_S:
            mark = None
        if mark is None:
            table.clear()
            return
        self._stand_at(mark.found)
        self.begins, self.committed_ms = mark.offsets, mark.committed_ms

    def close(self) -> None:
        """Close the table."""
        with self._lock:
            if self._file is not None:
                self._file.close()

    @property
    def row_count(self) -> int:
        return len(self._table)

    def batches_end(self, ends: Offsets) -> int:
        """Apply every commit that has ended, and send its changes to the subscriptions. Raises ChangelogsAnew."""
        position = self._newest(ends)
        if position is None:
            self._note(ends)
            self.is_current = True
            return -1
        # Under another checkpoint, the changelogs may have been deleted and written again, so deletes may be missing.
        if self._job not in ("", position.checkpoint):
            raise ChangelogsAnew(f"{self.internal}-{self.task} continues under another checkpoint")
        with self._lock:
            # Table and position change under one lock, so that no read sees rows of one commit with the number of
            # another.
            changes = self._changes(ends)
            self._position = position
            self._table.apply(changes.items(), self._tag(ends))
            self._stand_at(position)
            if all(self._misread(store) is None for store in self._stores):
                self._publish(changes)
        self.is_current = True
        return self.batch

    def take(self, topic: str, offset: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Add a record. A replica that is far behind has no readers, so it may apply rows before their commit ends."""
        super().take(topic, offset, key, value, timestamp)
        if self.is_current:
            return
        self._early += 1
        if self._early >= max(_AT_ONCE, min(_MOST_AT_ONCE, len(self._table) // 4)):
            self._early = 0
            with self._lock:
                # No commit has this tag. Nothing is read before the replica is current, so rows of several commits may
                # mix until then.
                self._table.apply(self._changes(self._until).items(), b"reading")

    def _tag(self, ends: Offsets) -> bytes:
        if self._file is None or self._position is None:
            return b"" if self._position is None else self._position.tag
        self._noted = time.monotonic()
        position = self._position.to_json().decode()
        return Mark(stores_of(self._log), position, dict(ends), self.committed_ms, time.time()).tag

    def _note(self, ends: Offsets) -> None:
        """Store about once a minute that everything was read, although nothing changed."""
        if self._file is not None and self._position is not None and time.monotonic() - self._noted > _NOTE_SECONDS:
            with self._lock:
                self._table.apply((), self._tag(ends))

    def _misread(self, store: str) -> Unavailable | None:
        """Return the error if the job wrote a store's rows in another format than this release declares, else None."""
        declared, recorded = self._stores[store], recorded_kind(self._table, store)
        if not recorded or is_of_kind(declared, recorded):
            return None
        return Unavailable(
            f"store {store} holds rows of the format {recorded!r}, but this query server's release declares "
            f"{declared.kind!r}: run `forebay store upgrade`, or start the release of the query server that the job has"
        )

    def get(
        self, store: str, key: str, bounds: Bounds, limit: int, codec: Codec[Any] | None = None
    ) -> tuple[int, list[Entry]]:
        """Return the commit number and at most `limit` entries of a key. `codec` replaces the store's."""
        return self._read(store, lambda bound: islice(reads_of(bound).lookup(bound, key, bounds), limit), codec)

    def scan(self, store: str, bounds: Bounds, limit: int, codec: Codec[Any] | None = None) -> tuple[int, list[Entry]]:
        """Return the commit number and at most `limit` entries of all keys, in order. `codec` replaces the store's."""
        return self._read(store, lambda bound: islice(reads_of(bound).scan(bound, bounds), limit), codec)

    def subscribe(self, subscription: Subscription, snapshot: bool) -> None:
        """Publish changes to a subscription from now on; with `snapshot`, only of rows that `rows` has yielded."""
        with self._lock:
            misread = self._misread(subscription.store)
            # Check before adding the subscription: a client must not wait for changes that can't be decoded.
            if misread is not None:
                raise misread
            self._subscriptions.append(subscription)
            if snapshot:
                self._read_until[subscription] = subscription.store.encode() + b"\0"

    def rows(self, subscription: Subscription) -> Iterator[Change]:
        """Yield the rows that a subscription selects, until it ends.

        The lock is held for one piece at a time, so a slow reader blocks no other reader, and uses the memory of one
        piece. A row that changes before its piece is read is yielded with that change; a row that changes afterwards is
        published as a change. Rows and changes together are therefore the rows of the store.
        """
        prefix = subscription.store.encode() + b"\0"
        while piece := self._next_piece(subscription, prefix_end(prefix)):
            batch, rows = piece
            for row, data in rows:
                change = self._change(subscription.store, row[len(prefix) :], data, batch)
                if subscription.wants(change.entry.key):
                    yield change

    def _next_piece(
        self, subscription: Subscription, end: bytes | None
    ) -> tuple[int, list[tuple[bytes, bytes]]] | None:
        """Return the commit number and the next rows; None after the last row, and if the subscription has ended."""
        with self._lock:
            begin = self._read_until.get(subscription)
            if begin is None or subscription.end is not None:
                return None
            rows = list(islice(self._table.scan(begin, end), _ROWS_IN_A_PIECE))
            # The subscription is up to date once its last piece is read. From here on, it gets all changes.
            if len(rows) < _ROWS_IN_A_PIECE:
                del self._read_until[subscription]
            else:
                # The smallest key after the last row that was read.
                self._read_until[subscription] = rows[-1][0] + b"\0"
            return self.batch, rows

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop sending changes to a subscription."""
        with self._lock:
            self._read_until.pop(subscription, None)
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def _stand_at(self, position: TaskPosition) -> None:
        self._position = position
        self._job, self.batch = position.checkpoint, position.n
        self._clock.closing_time = max(position.stream_time, position.closing_time)
        self.ends = {(topic, partition): end for topic, partition, end in position.ends}

    def _read(
        self, store: str, read: Callable[[Store[Any]], islice[Entry]], codec: Codec[Any] | None
    ) -> tuple[int, list[Entry]]:
        with self._lock:
            # Check under the lock, because a commit may record another format in between.
            misread = self._misread(store)
            if misread is not None:
                raise misread
            # New stores for each read: bound stores cache rows, which the next commit changes in the table.
            opened = TaskStores(self._table, Journal(), self._clock)
            bound = self._stores[store].with_row_texts().bind(opened, STORED)
            batch, stored = self.batch, list(read(bound))
        # All rows are of one commit, so the lock is held until the last one is copied. Decoding takes most of the time
        # and needs no lock.
        decode = (codec or self._codecs[store]).decode
        return batch, [row if row.value is None else replace(row, value=decode(row.value)) for row in stored]

    def _publish(self, changes: Mapping[bytes, bytes | None]) -> None:
        # Most replicas have no subscribers, and a commit may change thousands of rows.
        wanted = {subscription.store for subscription in self._subscriptions}
        if not wanted:
            return
        for row, data in changes.items():
            name, _, rest = row.partition(b"\0")
            store = name.decode()
            if store not in wanted:
                continue
            change = self._change(store, rest, data, self.batch)
            for subscription in self._subscriptions:
                if subscription.store != store or not subscription.wants(change.entry.key):
                    continue
                read_until = self._read_until.get(subscription)
                if read_until is None or row < read_until:  # later rows are yielded with the change
                    subscription.offer(change, len(row) + len(data or b""))

    def _change(self, store: str, row: bytes, data: bytes | None, batch: int) -> Change:
        entry = changed_entry(self._stores[store], row, data, self._codecs[store])
        return Change(self.task, batch, entry)
