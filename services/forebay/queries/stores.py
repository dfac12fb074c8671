"""All stores of a job: pull and push queries over the replicas of its tasks."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from forebay.codec import Unavailable
from forebay.queries.entries import Entry
from forebay.queries.reads import Bounds, WrongQuery, check_bounds, reads_of
from forebay.queries.replica import STORED, TaskReplica
from forebay.queries.subscription import Change, End, Subscription
from forebay.stores.binding import Store


class UnknownStore(LookupError):
    """The job has no such store. The message lists its stores."""


class NotCurrent(Unavailable):
    """The stores are still being read, or do not include the requested offsets yet. A retry helps."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a read.

    Args:
        batches: number of the last commit that the entries include, by task; -1: no commit yet.
        more: whether there are entries beyond the limit.
    """

    entries: list[Entry]
    batches: dict[int, int]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """An offset that a read must include: its record was processed, or sent to a side topic."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}:{self.offset}"


def not_reached(missing: Sequence[Reached]) -> None:
    """Raise NotCurrent if offsets are missing."""
    if missing:
        raise NotCurrent(
            f"the server has not read the effects of {', '.join(map(str, missing))} yet: retry, or wait longer "
            "(wait_ms)"
        )


class JobStores:
    """The stores of a job, or of a part of its tasks.

    Args:
        sub_topologies: the declared stores of each sub-topology.
        replicas: the replicas of each sub-topology, by task; only some tasks, if other servers hold the rest.
        tasks: number of the job's tasks; 0: not known yet.
    """

    def __init__(
        self, sub_topologies: Sequence[Iterable[Store[Any]]], replicas: Sequence[Sequence[TaskReplica]], tasks: int = 0
    ) -> None:
        self.tasks = tasks
        self._replicas = replicas
        self._sub_topologies = {
            store.name: sub_topology for sub_topology, stores in enumerate(sub_topologies) for store in stores
        }
        self._stores = {store.name: store for stores in sub_topologies for store in stores}
        self._round = threading.Condition()
        self._looked = time.monotonic()
        self._subscriptions: set[Subscription] = set()

    @property
    def declared(self) -> Mapping[str, Store[Any]]:
        """The stores by name."""
        return self._stores

    @property
    def subscribers(self) -> int:
        """The number of open subscriptions."""
        return len(self._subscriptions)

    def sub_topology(self, store: str) -> int:
        """Return the number of a store's sub-topology."""
        return self._sub_topologies[store]

    @property
    def is_current(self) -> bool:
        """Whether every replica contains everything that was committed at its last check."""
        return all(replica.is_current for tasks in self._replicas for replica in tasks)

    def check(self, store: str) -> None:
        """Raise UnknownStore, WrongQuery or NotCurrent if a store can't be read."""
        reads_of(self._current_store(store))

    def get(self, store: str, key: str, bounds: Bounds, limit: int) -> Found:
        """Return the entries of a key, `limit` at most. Raises UnknownStore, WrongQuery, NotCurrent."""
        declared = self._current_store(store)
        check_bounds(declared, bounds, reads_of(declared).by_key, "a key")
        batches, merged_entries = {}, []
        for replica in self._of(store):
            # Read all tasks, because a producer with another partitioner may have sent the key to any of them.
            batches[replica.task], entries = replica.get(store, key, bounds, limit + 1)
            merged_entries += entries
        # One entry more than the limit was requested, to find out whether there are more.
        return Found(merged_entries[:limit], batches, len(merged_entries) > limit)

    def scan(self, store: str, bounds: Bounds, limit: int) -> Found:
        """Return the entries of all keys in order, `limit` at most. Raises UnknownStore, WrongQuery, NotCurrent."""
        declared = self._current_store(store)
        reads = reads_of(declared)
        check_bounds(declared, bounds, reads.in_all, "all keys")
        batches, parts = {}, []
        for replica in self._of(store):
            batches[replica.task], entries = replica.scan(store, bounds, limit + 1)
            parts.append(entries)
        # Each task returns its own first entries in order, so the first ones of all tasks are among them.
        merged_entries = list(heapq.merge(*parts, key=reads.order, reverse=bounds.descending))
        return Found(merged_entries[:limit], batches, len(merged_entries) > limit)

    def scan_encoded(
        self, store: str, key: str | None, bounds: Bounds, limit: int
    ) -> tuple[dict[int, int], list[tuple[int, Entry]]]:
        """Return the last commit of each task, and at most `limit` entries with their tasks and encoded values.

        Args:
            key: None: all keys, in order.

        Raises:
            UnknownStore, WrongQuery, NotCurrent.
        """
        order = reads_of(self._current_store(store)).order
        batches: dict[int, int] = {}
        parts: list[list[tuple[int, Entry]]] = []
        for replica in self._of(store):
            if key is None:
                batches[replica.task], entries = replica.scan(store, bounds, limit, STORED)
            else:
                batches[replica.task], entries = replica.get(store, key, bounds, limit, STORED)
            parts.append([(replica.task, entry) for entry in entries])
        if key is not None:
            return batches, list(islice(chain.from_iterable(parts), limit))
        merged = heapq.merge(*parts, key=lambda task_entry: order(task_entry[1]), reverse=bounds.descending)
        return batches, list(islice(merged, limit))

    def ages(self, store: str) -> dict[str, int | None]:
        """Return the maximum ages of the result of a read, in ms.

        Returns:
            `commit_age_ms`: time since the newest commit that the store's rows include (None: no commit), which grows
            while nothing changes. `checked_age_ms`: time since everything that was committed was last read.
        """
        newest = max((replica.committed_ms for replica in self._of(store)), default=-1)
        age = None if newest < 0 else max(0, int(time.time() * 1000) - newest)
        return {"commit_age_ms": age, "checked_age_ms": int((time.monotonic() - self._looked) * 1000)}

    def wait_for(self, store: str, wanted: Sequence[Reached], seconds: float) -> None:
        """Wait until a read of `store` includes the effects of the records at these offsets.

        Raises:
            NotCurrent: this takes longer than `seconds`.
            WrongQuery: the store belongs to a later sub-topology, which does not know offsets of topics.
        """
        if not wanted:
            return
        self._current_store(store)
        self.check_waits(store)
        not_reached(self.await_offsets(wanted, seconds))

    def check_waits(self, store: str) -> None:
        """Raise WrongQuery for a store of a later sub-topology, which does not know offsets of topics."""
        if self._sub_topologies[store]:
            raise WrongQuery(
                f"at_least does not work for the store {store}, because it comes after a repartition: omit it, or "
                "query a store of the first sub-topology"
            )

    def await_offsets(self, wanted: Sequence[Reached], seconds: float) -> list[Reached]:
        """Wait until all rows include the effects of the records at these offsets. Return the offsets not reached."""
        deadline = time.monotonic() + seconds
        with self._round:
            while missing := [reached for reached in wanted if not self._has(reached)]:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._round.wait(left)
        return missing

    def subscribe(self, subscription: Subscription, snapshot: bool) -> Iterator[Change]:
        """Begin to send a store's changes to a subscription. If `snapshot` is true, return an iterator of all rows.

        The iterator reads rows in pieces (see `TaskReplica.rows`). No change is missed or sent twice between the rows
        and the changes.
        Raises UnknownStore, WrongQuery, NotCurrent.
        """
        self.check(subscription.store)
        # Register it before the replicas do. If the stores are replaced now, the subscription is closed with them.
        self._subscriptions.add(subscription)
        replicas = self._of(subscription.store)
        # Subscribe to all tasks before any row is read. A change during the read is then sent after its row.
        for replica in replicas:
            replica.subscribe(subscription, snapshot)
        return chain.from_iterable(replica.rows(subscription) for replica in replicas) if snapshot else iter(())

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop sending changes to a subscription."""
        self._subscriptions.discard(subscription)
        for replica in self._replicas[self._sub_topologies[subscription.store]]:
            replica.unsubscribe(subscription)

    def round_is_over(self) -> None:
        """Record that the replicas were updated, and wake the threads that wait for it."""
        with self._round:
            self._looked = time.monotonic()
            self._round.notify_all()

    def close(self) -> None:
        """End all subscriptions, whose readers then subscribe to the stores that replace these."""
        for subscription in list(self._subscriptions):
            subscription.close(End.RESTART)
        for tasks in self._replicas:
            for replica in tasks:
                replica.close()

    def known(self, store: str) -> Store[Any]:
        """Return a store as declared, whether or not it can be read yet. Raises UnknownStore."""
        if store not in self._stores:
            raise UnknownStore(f"there is no store {store!r}: choose from {', '.join(self._stores) or 'none'}")
        return self._stores[store]

    def _current_store(self, store: str) -> Store[Any]:
        declared = self.known(store)
        if not self.is_current:
            raise NotCurrent("the changelogs are still being read: retry in a moment")
        return declared

    def _of(self, store: str) -> Sequence[TaskReplica]:
        replicas = self._replicas[self._sub_topologies[store]]
        # Each task holds all rows of a global table. Reading all tasks would return each row several times.
        return replicas[:1] if self._stores[store].is_global else replicas

    def _has(self, reached: Reached) -> bool:
        place = reached.topic, reached.partition
        # Only the first sub-topology's positions have offsets of input topics for its stores (see `check_waits`).
        return any(replica.ends.get(place, 0) > reached.offset for replica in self._replicas[0])
