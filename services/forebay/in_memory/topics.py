"""Topics in memory: those that a service reads, and its changelogs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain

from forebay.in_memory.records import PipedRecord
from forebay.processor.messages import Headers
from forebay.runtime.protocol.position import TaskPosition

Place = tuple[str, int]


class Partition:
    """The records of a partition from offset `first` on. Offsets may have gaps, as in a compacted topic."""

    __slots__ = ("end", "first", "number", "records", "topic")

    def __init__(self, topic: str, number: int) -> None:
        self.topic, self.number = topic, number
        self.records: list[PipedRecord] = []
        self.first = 0
        self.end = 0
        """Offset of the next record, unless another one is specified."""

    def append(
        self, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers, offset: int | None = None
    ) -> None:
        """Add a record (`timestamp` in ms) at an offset of at least `end`."""
        at = self.end if offset is None else offset
        self.records.append(PipedRecord(self.topic, at, key, value, timestamp, headers, self.number))
        self.end = at + 1

    def place_of(self, offset: int) -> int:
        """Return the index of the first record at or after an offset."""
        if self.end - self.first == len(self.records):
            return offset - self.first
        return bisect_left(self.records, offset, key=lambda record: record.offset_)

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset."""
        if offset > self.first:
            del self.records[: self.place_of(offset)]
            self.first = offset


class Changelog:
    """A partition of a compacted topic: the last record of each key, in order of offsets."""

    __slots__ = ("_rows", "end")

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[int, bytes | None, int]] = {}
        self.end = 0

    def append(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Add a record (`timestamp` in ms)."""
        # Delete the old entry, because a dict keeps the position of an overwritten key. Compaction keeps that of the
        # last record.
        self._rows.pop(key, None)
        self._rows[key] = self.end, value, timestamp
        self.end += 1

    def forget(self) -> None:
        """Delete all records, because no table is rebuilt from them any more."""
        self._rows.clear()

    def records(self, offset: int) -> Iterator[tuple[bytes, bytes | None, int]]:
        """Yield the key, value and timestamp of each record from an offset on."""
        for key, (at, value, timestamp) in self._rows.items():
            if at >= offset:
                yield key, value, timestamp


class Topics:
    """The partitions of topics that a service reads, and of its changelogs."""

    def __init__(self) -> None:
        self.partitions: dict[str, list[Partition]] = {}
        self.changelogs: dict[Place, Changelog] = {}
        self.positions: dict[Place, TaskPosition] = {}
        """The last position, by topic and partition of an internal changelog."""

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic that is read."""
        self.partitions[topic] = [Partition(topic, number) for number in range(partitions)]

    def partition(self, topic: str, number: int) -> Partition:
        """Return a partition of a topic that is read."""
        return self.partitions[topic][number]

    def changelog(self, topic: str, number: int) -> Changelog:
        """Return a partition of a changelog."""
        return self.changelogs.setdefault((topic, number), Changelog())

    @property
    def kept(self) -> int:
        """Number of records in topics that are read."""
        return sum(len(partition.records) for partition in chain.from_iterable(self.partitions.values()))

    def forget_used(self, positions: Iterable[TaskPosition]) -> None:
        """Delete the records that all tasks have processed. A restart reads from their positions."""
        used: dict[Place, int] = {}
        for position in positions:
            for topic, number, end in position.ends:
                # Several tasks may read a partition, for example of a global table. The slowest of them decides.
                used[topic, number] = min(end, used.get((topic, number), end))
        for (topic, number), end in used.items():
            self.partition(topic, number).delete_before(end)
