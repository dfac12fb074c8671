"""The transaction coordinator of the in-memory broker, with transaction protocol v1, which librdkafka uses."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

Place = tuple[str, int]

LOADING_SECONDS = 0.5
"""Time for which a new coordinator reads its log before it responds."""


class Fenced(Exception):
    """A newer producer owns the transactional id."""


class InvalidTransaction(Exception):
    """The coordinator's state does not allow the request (INVALID_TXN_STATE)."""


@dataclass(slots=True, eq=False)
class Transaction:
    """A transaction.

    Args:
        pending: Partitions that do not have its end marker yet.
        first: Its first offset in each partition with its records.
        offsets: Offsets of the marker group, which take effect when the transaction is committed.
    """

    begun: float
    state: str = "open"
    partitions: set[Place] = field(default_factory=set)
    first: dict[Place, int] = field(default_factory=dict)
    pending: list[Place] = field(default_factory=list)
    has_offsets: bool = False
    offsets: dict[Place, tuple[int, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Identity:
    """The state of a transactional id: the current epoch and the last transaction."""

    epoch: int = 0
    transaction: Transaction | None = None


class Coordinator:
    """Coordinator that decides the outcome of transactions, and writes their end markers, partition by partition.

    In protocol v1, an EndTxn request names a producer epoch and no transaction. It ends any open transaction of this
    epoch. A copy that arrives late can therefore end the next transaction.

    Args:
        clock: Returns the broker's time in seconds.
        mark: Writes the end marker of a transaction to a partition.
        commit_offsets: Called with the offsets of a committed transaction.
    """

    def __init__(
        self,
        seed: random.Random,
        clock: Callable[[], float],
        mark: Callable[[Place, Transaction], None],
        commit_offsets: Callable[[dict[Place, tuple[int, str]]], None],
    ) -> None:
        self._random = seed
        self._clock = clock
        self._mark = mark
        self._commit_offsets = commit_offsets
        self.identities: dict[str, Identity] = {}
        self.ends: list[tuple[str, int, str]] = []
        """All decisions: transactional id, epoch, "committed" or "aborted"."""
        self.ready_at = 0.0

    def init(self, name: str) -> int:
        """Handle InitProducerId: abort the open transaction and return a new epoch."""
        identity = self.identities.setdefault(name, Identity())
        transaction = identity.transaction
        if transaction is not None and transaction.state == "open":
            self._end(name, identity.epoch, transaction, "aborted")
        self.settle(transaction)
        identity.transaction = None
        identity.epoch += 1
        return identity.epoch

    def own(self, name: str, epoch: int) -> Identity:
        """Return the state of a transactional id. Raises Fenced."""
        identity = self.identities[name]
        if identity.epoch != epoch:
            raise Fenced
        return identity

    def add_partition(self, name: str, epoch: int, place: Place) -> None:
        """Handle AddPartitionsToTxn. Raises Fenced."""
        self._begun(name, epoch).partitions.add(place)

    def add_offsets(self, name: str, epoch: int) -> None:
        """Handle AddOffsetsToTxn. Raises Fenced."""
        self._begun(name, epoch).has_offsets = True

    def _begun(self, name: str, epoch: int) -> Transaction:
        """Return the open transaction, or begin one, because requests of protocol v1 do not name their transaction."""
        identity = self.own(name, epoch)
        transaction = identity.transaction
        if transaction is None or transaction.state != "open":
            # While markers are pending the coordinator answers CONCURRENT_TRANSACTIONS, and the client waits.
            self.settle(transaction)
            transaction = identity.transaction = Transaction(self._clock())
        return transaction

    def verify(self, name: str, epoch: int, place: Place) -> Transaction:
        """Return the open transaction of a record or an offset. Partition leaders verify it since Kafka 3.6.

        Raises:
            Fenced, InvalidTransaction.
        """
        transaction = self._open(name, epoch)
        if place not in transaction.partitions:
            raise InvalidTransaction
        return transaction

    def commit_group_offsets(self, name: str, epoch: int, offsets: dict[Place, tuple[int, str]]) -> None:
        """Handle TxnOffsetCommit, which the group coordinator verifies. Raises Fenced, InvalidTransaction."""
        transaction = self._open(name, epoch)
        if not transaction.has_offsets:
            raise InvalidTransaction
        transaction.offsets.update(offsets)

    def _open(self, name: str, epoch: int) -> Transaction:
        transaction = self.own(name, epoch).transaction
        if transaction is None or transaction.state != "open":
            raise InvalidTransaction
        return transaction

    def end(self, name: str, epoch: int, state: str) -> None:
        """Handle EndTxn. Raises Fenced, or InvalidTransaction if the last transaction was ended differently."""
        transaction = self.own(name, epoch).transaction
        if transaction is None or transaction.state not in ("open", state):
            raise InvalidTransaction
        if transaction.state == "open":
            self._end(name, epoch, transaction, state)
        else:
            self.settle(transaction)

    def _end(self, name: str, epoch: int, transaction: Transaction, state: str) -> None:
        transaction.state = state
        self.ends.append((name, epoch, state))
        transaction.pending = list(transaction.first)
        self._random.shuffle(transaction.pending)
        if state == "committed":
            self._commit_offsets(transaction.offsets)
        for _ in range(self._random.randrange(len(transaction.pending) + 1)):
            self._mark(transaction.pending.pop(), transaction)

    def settle(self, transaction: Transaction | None) -> None:
        """Write all pending end markers of a transaction."""
        while transaction is not None and transaction.pending:
            self._mark(transaction.pending.pop(), transaction)

    def write_some_markers(self) -> None:
        """Write one pending marker of each transaction."""
        for identity in self.identities.values():
            if identity.transaction is not None and identity.transaction.pending:
                self._mark(identity.transaction.pending.pop(), identity.transaction)

    def expire(self, seconds: float) -> None:
        """Abort transactions that have been open for longer than `seconds`, and fence their producers."""
        for name, identity in self.identities.items():
            transaction = identity.transaction
            if transaction is not None and transaction.state == "open" and self._clock() - transaction.begun > seconds:
                self._end(name, identity.epoch, transaction, "aborted")
                identity.epoch += 1
                self.settle(transaction)

    def move(self) -> None:
        """Move the coordinator to another broker, which completes the decided transactions from its log.

        The new coordinator does not know which markers were written. It writes all of them, and some a second time.
        """
        self.ready_at = self._clock() + LOADING_SECONDS
        for identity in self.identities.values():
            if identity.transaction is not None and identity.transaction.pending:
                identity.transaction.pending = sorted(identity.transaction.first)
