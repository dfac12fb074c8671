"""The transaction coordinator of the broker in memory, in transaction protocol v1, which librdkafka speaks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

Place = tuple[str, int]

LOADING_SECONDS = 0.5
"""How long a coordinator that takes over reads its log before it answers."""


class Fenced(Exception):
    """A newer producer owns the transactional id."""


class InvalidTransaction(Exception):
    """The coordinator's state does not allow the request (INVALID_TXN_STATE)."""


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction.

    Args:
        pending: partitions that have no marker of its end yet.
        first: the first offset of each partition with records of it.
        offsets: of the marker group, which count once the transaction is committed.
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
    """Decides the outcome of transactions, and writes their markers, partition by partition.

    In protocol v1 an EndTxn names a producer epoch, not a transaction: it ends that epoch's open transaction.

    Args:
        clock: returns the broker's time in seconds.
        mark: writes the marker of a transaction's end to a partition.
        commit_offsets: takes the offsets of a committed transaction.
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
        """Each decision: transactional id, epoch, "committed" or "aborted"."""
        self.ready_at = 0.0

    def init(self, name: str) -> int:
        """Answer InitProducerId: abort the open transaction and return a new epoch."""
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
        """Answer AddPartitionsToTxn. Raises Fenced."""
        self._begun(name, epoch).partitions.add(place)

    def add_offsets(self, name: str, epoch: int) -> None:
        """Answer AddOffsetsToTxn. Raises Fenced."""
        self._begun(name, epoch).has_offsets = True

    def _begun(self, name: str, epoch: int) -> Transaction:
        """Return the open transaction, or begin one: requests of protocol v1 don't name their transaction."""
        identity = self.own(name, epoch)
        transaction = identity.transaction
        if transaction is None or transaction.state != "open":
            # While markers are pending the coordinator answers CONCURRENT_TRANSACTIONS, and the client waits.
            self.settle(transaction)
            transaction = identity.transaction = Transaction(self._clock())
        return transaction

    def verify(self, name: str, epoch: int, place: Place) -> Transaction:
        """Return the transaction that a record or an offset belongs to, as partition leaders ask since Kafka 3.6.

        Raises:
            Fenced, InvalidTransaction.
        """
        transaction = self._open(name, epoch)
        if place not in transaction.partitions:
            raise InvalidTransaction
        return transaction

    def commit_group_offsets(self, name: str, epoch: int, offsets: dict[Place, tuple[int, str]]) -> None:
        """Answer TxnOffsetCommit, which the group coordinator verifies. Raises Fenced, InvalidTransaction."""
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
        """Answer EndTxn. Raises Fenced, InvalidTransaction: the last transaction had the other end."""
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
        """Write all markers of a transaction's end that are pending."""
        while transaction is not None and transaction.pending:
            self._mark(transaction.pending.pop(), transaction)

    def write_some_markers(self) -> None:
        """Write one pending marker of each transaction."""
        for identity in self.identities.values():
            if identity.transaction is not None and identity.transaction.pending:
                self._mark(identity.transaction.pending.pop(), identity.transaction)

    def expire(self, seconds: float) -> None:
        """Abort transactions that are open for longer, and fence their producers."""
        for name, identity in self.identities.items():
            transaction = identity.transaction
            if transaction is not None and transaction.state == "open" and self._clock() - transaction.begun > seconds:
                self._end(name, identity.epoch, transaction, "aborted")
                identity.epoch += 1
                self.settle(transaction)

    def move(self) -> None:
        """Let another broker take over, which completes the decided transactions from its log.

        It does not know which markers are written, so it writes all of them, some a second time.
        """
        self.ready_at = self._clock() + LOADING_SECONDS
        for identity in self.identities.values():
            if identity.transaction is not None and identity.transaction.pending:
                identity.transaction.pending = sorted(identity.transaction.first)
