"""Deduplication by event ids within a retention of stream time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from forebay.stores.event_ids import ID_BYTES, PREFIX, id_rows, read_row_key, split_ids
from forebay.stores.table import Change, Table, prefix_end

_BUCKETS = 10

_MEMORY_BYTES = 140
"""Bytes of memory per id, as measured."""


class Dedupe:
    """Event ids, hashed to 16 bytes, in time buckets of a tenth of the retention.

    An id is known for at least `retention_ms` of stream time after it was accepted, and at most one bucket longer. For
    each bucket, a commit that adds ids writes a table row, or several if there are many ids. A row contains the time
    until which its ids were accepted, so that it remains readable if the retention changes. Its ids are then known for
    the new retention, and at most one bucket of the earlier retention longer.

    Args:
        retention_ms: Retention in ms. 0 turns deduplication off and deletes the ids.
    """

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self._bucket_ms = max(1, retention_ms // _BUCKETS)
        self._bucket_of: dict[bytes, int] = {}
        self._ids: dict[int, list[bytes]] = {}
        self._rows: dict[int, list[bytes]] = {}
        self._added: dict[int, list[bytes]] = {}
        self._dropped_rows: list[bytes] = []
        self._oldest_end = 1 << 62

    def __len__(self) -> int:
        return len(self._bucket_of)

    @property
    def footprint_bytes(self) -> int:
        """Bytes of memory that the ids use."""
        return _MEMORY_BYTES * len(self._bucket_of)

    def load(self, table: Table) -> None:
        """Replace the ids in memory by those of `table`."""
        self.__init__(self.retention_ms)  # type: ignore[misc]
        for row_key, value in table.scan(PREFIX, prefix_end(PREFIX)):
            if not self.retention_ms:
                self._dropped_rows.append(row_key)
                continue
            written = read_row_key(row_key)
            # Rows of release 0.1 name the bucket itself, which another retention numbers differently.
            bucket = written.until if written.is_bucket else written.until // self._bucket_ms
            ids = split_ids(value)
            self._bucket_of.update(dict.fromkeys(ids, bucket))
            self._ids.setdefault(bucket, []).extend(ids)
            self._rows.setdefault(bucket, []).append(row_key)
        self._set_oldest()

    def digest(self, event_id: str) -> bytes:
        """Return the hash of an id, 16 bytes."""
        # With hashes, the size of the state does not depend on the ids that producers choose.
        return hashlib.blake2b(event_id.encode(), digest_size=ID_BYTES).digest()

    def seen(self, digest: bytes, stream_time: int) -> bool:
        """Return whether the id was accepted within the retention before `stream_time` (ms)."""
        bucket = self._bucket_of.get(digest)
        # An id past the retention may still be in memory, because ids are removed when others are added.
        return bucket is not None and self._end(bucket) > stream_time

    def add(self, digest: bytes, stream_time: int) -> None:
        """Add an accepted id, and remove ids that are past the retention."""
        bucket = stream_time // self._bucket_ms
        # An id that arrives again after its retention moves to the newer bucket.
        self._bucket_of[digest] = bucket
        added = self._added.get(bucket)
        if added is None:
            added = self._added[bucket] = []
            self._oldest_end = min(self._oldest_end, self._end(bucket))
        added.append(digest)
        # Expire ids only here, so that records without an id and idle tasks have no cost.
        if stream_time >= self._oldest_end:
            self._expire(stream_time)

    def changes(self, batch: int) -> Iterator[Change]:
        """Yield the changes of the commit as table rows. Their keys contain its number `batch`."""
        for row_key in self._dropped_rows:
            yield row_key, None
        for bucket, ids in self._added.items():
            yield from id_rows(self._last(bucket), batch, ids)

    def settle(self, batch: int) -> None:
        """Begin the next commit. The changes of the previous one, with the number `batch`, are in the table now."""
        for bucket, ids in self._added.items():
            self._ids.setdefault(bucket, []).extend(ids)
            rows = [row_key for row_key, _ in id_rows(self._last(bucket), batch, ids)]
            self._rows.setdefault(bucket, []).extend(rows)
        self._added.clear()
        self._dropped_rows.clear()

    def _last(self, bucket: int) -> int:
        return (bucket + 1) * self._bucket_ms - 1

    def _end(self, bucket: int) -> int:
        return (bucket + 1) * self._bucket_ms + self.retention_ms

    def _expire(self, stream_time: int) -> None:
        for bucket in [b for b in self._ids | self._added if self._end(b) <= stream_time]:
            for digest in self._ids.pop(bucket, []) + self._added.pop(bucket, []):
                # An id that was accepted again, after its retention, belongs to a later bucket.
                if self._bucket_of.get(digest) == bucket:
                    del self._bucket_of[digest]
            self._dropped_rows.extend(self._rows.pop(bucket, []))
        self._set_oldest()

    def _set_oldest(self) -> None:
        self._oldest_end = min((self._end(b) for b in self._ids | self._added), default=1 << 62)
