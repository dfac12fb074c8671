"""A broker in memory: partitions, transactions, fencing by transactional id, committed offsets, compaction."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from forebay.processor.messages import Headers

Place = tuple[str, int]


class Fenced(Exception):
    """A newer producer has the transactional id."""


@dataclass(slots=True)
class Record:
    """One record of a partition (a `Message` of confluent_kafka, as far as it is asked)."""

    place: Place
    offset_: int
    key_: bytes | None
    value_: bytes | None
    timestamp_: int
    headers_: Headers | None
    transaction: Transaction | None
    at: float

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


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction; `pending` are the partitions whose reader does not know its end yet."""

    begun: float
    state: str = "open"
    first: dict[Place, int] = field(default_factory=dict)
    pending: list[Place] = field(default_factory=list)
    offsets: dict[Place, tuple[int, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Partition:
    low: int = 0
    end: int = 0
    records: list[Record] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)
    """First offset by transaction (its id()) whose end is not told yet."""

    @property
    def stable(self) -> int:
        return min(self.open.values(), default=self.end)


@dataclass(slots=True)
class Identity:
    epoch: int = 0
    transaction: Transaction | None = None


class Broker:
    """Takes what producers send; time is given in seconds by whoever calls.

    A committed transaction's end is told to its partitions one after the other, some time: `settle` and the
    producer's next steps see to it.
    """

    def __init__(self, seed: random.Random) -> None:
        self.partitions: dict[Place, Partition] = {}
        self.identities: dict[str, Identity] = {}
        self.marked: dict[Place, tuple[int, str]] = {}
        self.history: list[Record] = []
        """All that was ever sent, compacted away or not."""
        self.now = 0.0
        self.late_ends = 0.0
        """How many of the commits' EndTxn requests arrive late, behind the client's own repetition."""
        self._late: list[tuple[str, int]] = []
        self._random = seed

    def create(self, topic: str, partitions: int) -> None:
        for number in range(partitions):
            self.partitions[topic, number] = Partition()

    def append(
        self,
        place: Place,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        partition = self.partitions[place]
        record = Record(place, partition.end, key, value, timestamp, headers, transaction, self.now)
        partition.records.append(record)
        self.history.append(record)
        if transaction is not None and place not in transaction.first:
            transaction.first[place] = partition.end
            partition.open[id(transaction)] = partition.end
        partition.end += 1

    def init(self, name: str) -> int:
        """Fence off and abort whoever has the name."""
        identity = self.identities.setdefault(name, Identity())
        if identity.transaction is not None:
            if identity.transaction.state == "open":
                self._end(identity.transaction, "aborted")
            self.settle(identity.transaction)
            identity.transaction = None
        identity.epoch += 1
        return identity.epoch

    def _own(self, name: str, epoch: int) -> Identity:
        identity = self.identities[name]
        if identity.epoch != epoch:
            raise Fenced
        return identity

    def begin(self, name: str, epoch: int) -> None:
        identity = self.identities[name]
        if identity.epoch == epoch and identity.transaction is not None:
            self.settle(identity.transaction)

    def transaction(self, name: str, epoch: int) -> Transaction:
        """Return the open transaction, a new one where there is none. Raises Fenced."""
        identity = self._own(name, epoch)
        if identity.transaction is None or identity.transaction.state != "open":
            identity.transaction = Transaction(self.now)
        return identity.transaction

    def commit(self, name: str, epoch: int) -> None:
        self._finish(name, epoch, "committed")

    def loses_connection(self, name: str, epoch: int) -> bool:
        """Return whether a commit's request is on its way while the client loses its connection and repeats it."""
        if not self.late_ends or self._random.random() >= self.late_ends:
            return False
        self._late.append((name, epoch))
        return True

    def deliver_late(self) -> None:
        """Deliver a late EndTxn, as the coordinator takes it in transaction protocol v1: it ends what is open now."""
        if self._late:
            name, epoch = self._late.pop(0)
            with suppress(Fenced):
                self.commit(name, epoch)

    def abort(self, name: str, epoch: int) -> None:
        self._finish(name, epoch, "aborted")

    def _finish(self, name: str, epoch: int, state: str) -> None:
        identity = self._own(name, epoch)
        if identity.transaction is not None and identity.transaction.state == "open":
            self._end(identity.transaction, state)

    def _end(self, transaction: Transaction, state: str) -> None:
        transaction.state = state
        transaction.pending = list(transaction.first)
        self._random.shuffle(transaction.pending)
        if state == "committed":
            for place, (offset, metadata) in transaction.offsets.items():
                self.marked[place] = offset, metadata
        for _ in range(self._random.randrange(len(transaction.pending) + 1)):
            self._tell(transaction)

    def _tell(self, transaction: Transaction) -> None:
        partition = self.partitions[transaction.pending.pop()]
        del partition.open[id(transaction)]
        partition.end += 1

    def settle(self, transaction: Transaction | None = None) -> None:
        """Tell all partitions of a transaction's end; without one given, one partition of each."""
        if transaction is not None:
            while transaction.pending:
                self._tell(transaction)
            return
        for identity in self.identities.values():
            if identity.transaction is not None and identity.transaction.pending:
                self._tell(identity.transaction)

    def expire(self, seconds: float) -> None:
        """Abort transactions that are open for longer, and fence off whoever has them."""
        for identity in self.identities.values():
            found = identity.transaction
            if found is not None and found.state == "open" and self.now - found.begun > seconds:
                identity.epoch += 1
                self._end(found, "aborted")
                self.settle(found)

    def delete_before(self, place: Place, offset: int) -> None:
        partition = self.partitions[place]
        partition.low = max(partition.low, min(offset, partition.stable))
        partition.records = [record for record in partition.records if record.offset_ >= partition.low]

    def compact(self, topics: Iterable[str], tombstone_seconds: float) -> None:
        """Keep only the last record of each key below the last stable offset, and deletes only while they are young."""
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
        """Return all that was ever committed to a topic, by partition and offset."""
        found = [record for record in self.history if record.place[0] == topic and record.counts]
        return sorted(found, key=lambda record: (record.place[1], record.offset_))
