"""An in-memory broker with partitions, transactions, fencing by transactional id, committed offsets and compaction."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from forebay.processor.messages import Headers
from tests.runtime.simulator.coordinator import Coordinator, Place, Transaction
from tests.runtime.simulator.history import Attempt
from tests.runtime.simulator.late import LateRequests


@dataclass(slots=True)
class Record:
    """A record of a partition, with the methods of confluent_kafka's `Message` that the runtime uses."""

    place: Place
    offset_: int
    key_: bytes | None
    value_: bytes | None
    timestamp_: int
    headers_: Headers | None
    transaction: Transaction | None
    at: float
    attempt: Attempt | None = None

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return self.headers_

    def timestamp(self) -> tuple[int, int]:
        return 1, self.timestamp_

    def error(self) -> None:
        return None

    def __len__(self) -> int:
        return len(self.value_ or b"")

    @property
    def counts(self) -> bool:
        return self.transaction is None or self.transaction.state == "committed"


@dataclass(slots=True)
class Partition:
    low: int = 0
    end: int = 0
    records: list[Record] = field(default_factory=list)
    open: dict[Transaction, int] = field(default_factory=dict)
    """First offset of each transaction whose end marker is not in this partition yet."""
    sequences: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Last epoch and sequence number by transactional id."""
    answers_at: float = 0.0
    """Time from which clients that read the former topic can read the recreated topic."""

    @property
    def stable(self) -> int:
        return min(self.open.values(), default=self.end)


Sent = tuple[Place, bytes | None, bytes | None, int, Headers | None]
"""Partition, key, value, timestamp and headers of a record."""


class Broker:
    """Broker that handles the requests of the clients in `clients`.

    The coordinator writes the end markers of a transaction one after the other. `settle` writes some of them, and the
    next request of the producer writes the others.
    """

    def __init__(self, seed: random.Random) -> None:
        self.partitions: dict[Place, Partition] = {}
        self.marked: dict[Place, tuple[int, str]] = {}
        self.history: list[Record] = []
        """All records that were ever sent, including those that compaction has removed."""
        self.topic_ids: dict[str, str] = {}
        self.now = 0.0
        self.late = LateRequests(seed)
        self.attempts: list[Attempt] = []
        """All transactions in the order in which clients began them."""
        self.coordinator = Coordinator(seed, lambda: self.now, self._write_marker, self.marked.update)

    def create(self, topic: str, partitions: int, silent_seconds: float = 0.0) -> None:
        """Create a topic, or recreate it, empty and with a new id. For `silent_seconds`, reads of it return nothing."""
        self.topic_ids[topic] = f"{topic}@{self.now}"
        for number in range(partitions):
            self.partitions[topic, number] = Partition(answers_at=self.now + silent_seconds)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Increase the number of a topic's partitions."""
        for number in range(partitions):
            self.partitions.setdefault((topic, number), Partition())

    def append(
        self,
        place: Place,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers | None = None,
        transaction: Transaction | None = None,
        attempt: Attempt | None = None,
    ) -> None:
        partition = self.partitions[place]
        record = Record(place, partition.end, key, value, timestamp, headers, transaction, self.now, attempt)
        partition.records.append(record)
        self.history.append(record)
        if transaction is not None and place not in transaction.first:
            transaction.first[place] = partition.end
            partition.open[transaction] = partition.end
        partition.end += 1

    def produce(self, name: str, epoch: int, sequence: int, record: Sent, attempt: Attempt) -> None:
        """Handle Produce: append a record of a transaction, unless it is a retry.

        Raises:
            Fenced, InvalidTransaction.
        """
        place, key, value, timestamp, headers = record
        transaction = self.coordinator.verify(name, epoch, place)
        partition = self.partitions[place]
        if partition.sequences.get(name, (0, -1)) < (epoch, sequence):
            partition.sequences[name] = epoch, sequence
            self.append(place, key, value, timestamp, headers, transaction, attempt)

    def _write_marker(self, place: Place, transaction: Transaction) -> None:
        partition = self.partitions[place]
        partition.open.pop(transaction, None)
        partition.end += 1

    def settle(self) -> None:
        """Write one pending marker of each transaction."""
        self.coordinator.write_some_markers()

    def delete_before(self, place: Place, offset: int) -> None:
        partition = self.partitions[place]
        partition.low = max(partition.low, min(offset, partition.stable))
        partition.records = [record for record in partition.records if record.offset_ >= partition.low]

    def compact(self, topics: Iterable[str], tombstone_seconds: float) -> None:
        """Compact topics up to their last stable offsets. Keep each key's last record, a delete only for a while."""
        wanted = set(topics)
        for (topic, _), partition in self.partitions.items():
            if topic not in wanted:
                continue
            stable = partition.stable
            last = {r.key_: r.offset_ for r in partition.records if r.offset_ < stable and r.counts}
            partition.records = [
                r
                for r in partition.records
                if r.offset_ >= stable
                or (last.get(r.key_) == r.offset_ and (r.value_ is not None or self.now - r.at < tombstone_seconds))
            ]

    def committed(self, topic: str) -> list[Record]:
        """Return all committed records of a topic, by partition and offset."""
        records = [record for record in self.history if record.place[0] == topic and record.counts]
        return sorted(records, key=lambda record: (record.place[1], record.offset_))
