"""When a commit is due: soon while caught up, less often in a backlog, never beyond limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from forebay.runtime.task.commit_size import CommitSize

BACKLOG_SECONDS = 1.0
READ_AHEAD = 10_000
"""Records that may be queued if a commit takes fewer.

A group has one consumer, and a consumer has one queue. Without reading ahead, repartitioned records would wait behind
all fetched input records, and a sub-topology that merges by time waits for its slowest sender. With a queue for each,
every sub-topology gets a share of the commit.
"""
_AHEAD_BYTES = 8 << 20
"""Limit of these records' bytes, estimated from the size of the latest records."""
_FULL_READ = 1_000
"""Number of records of one read from which more records are assumed to wait behind them."""
_INTERVAL_PER_COST = 2.0
"""Ratio of the time between two commits to the duration of a commit, if the limits allow it."""
_SMOOTHING = 8.0
"""Commits over which the cost is averaged, so that a single slow commit changes little."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of commits, and the times between commits and snapshots.

    Args:
        max_records: largest number of records of a commit, over all partitions of a group.
        max_bytes: largest size of a commit; 0: no limit.
        commit_interval_ms: longest time between two commits while caught up.
        shortest_interval_ms: shortest time between two commits, if commits are fast.
        checkpoint_interval_ms: time between two snapshots of a task.
        idle: whether idle time passes on idle topics.
    """

    max_records: int = 50_000
    max_bytes: int = 0
    commit_interval_ms: int = 100
    shortest_interval_ms: int = 25
    checkpoint_interval_ms: int = 30_000
    idle: bool = True


class Pacing:
    """Decides when the records that were read are processed and committed.

    Args:
        read_ahead: records that may be queued if a commit takes fewer.
    """

    def __init__(
        self, limits: Limits, clock: Callable[[], float] = time.monotonic, read_ahead: int = READ_AHEAD
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._read_ahead = read_ahead
        self._size = CommitSize(limits.max_records)
        self._record_bytes = 1
        self._gathered_at = self._due = float("-inf")
        self._longest = limits.commit_interval_ms / 1_000
        self._shortest = min(limits.shortest_interval_ms / 1_000, self._longest)
        self._cost = self._longest / _INTERVAL_PER_COST
        self.start()
        self.begin(0)

    def start(self) -> None:
        """Start a group. Its first commit, which shows that it works, gathers for one interval at most."""
        self._patience = min(BACKLOG_SECONDS, self._longest)
        self._is_timed = False

    def begin(self, waiting: int, *, left_records: bool = False) -> None:
        """Begin to gather a commit, with `waiting` records in the queues.

        Args:
            left_records: whether the last commit left records in the queues, so that the next one is due at once.
        """
        self._records, self._bytes = 0, 0
        self._waiting, self._left_records = waiting, left_records
        self._begun = self._clock()
        self._first_at = self._begun if waiting else None

    def took(self, records: int, size: int) -> None:
        """Count the records and bytes of a read."""
        self._records += records
        self._bytes += size
        if not records:
            return
        self._record_bytes = max(1, size // records)
        if self._first_at is None:
            self._first_at = self._clock()

    def wait(self) -> float:
        """Return how long (s) to wait for more records: until the commit is due."""
        if self._first_at is None:
            return 3_600.0
        if self.is_full:
            return 0.0
        return max(0.0, self._due - self._clock())

    def is_due(self, count: int) -> bool:
        """Return whether the buffered records should be processed now; the last read returned `count` records."""
        if self._first_at is None:
            return False
        now = self._clock()
        if self.is_full or now - self._begun >= self._patience:
            return True
        # A full read shows that more records wait. They join this commit, because a backlog is drained faster with few
        # transactions.
        return now >= self._due and count < _FULL_READ

    def on_due(self) -> None:
        """Record that the commit is due, which begins the interval to the next one."""
        self._gathered_at, self._is_timed = self._clock(), True

    @property
    def is_empty(self) -> bool:
        """Whether no records are queued for the commit."""
        return self._first_at is None

    @property
    def is_full(self) -> bool:
        """Whether the commit needs no more records: it is loaded, or the last one left enough."""
        return self._left_records or self.is_loaded

    @property
    def is_loaded(self) -> bool:
        """Whether the records read since `begin` fill a commit."""
        return self._records >= self.most or 0 < self._most_bytes <= self._bytes

    @property
    def is_spent(self) -> bool:
        """Whether a backlog has been gathered for long enough."""
        return self._clock() - self._begun >= BACKLOG_SECONDS

    @property
    def room(self) -> int:
        """Number of records that may be read at once: those of this commit and, if it is small, some ahead."""
        ahead = min(self._read_ahead, _AHEAD_BYTES // self._record_bytes) - self._waiting
        return max(1, max(self.most, ahead) - self._records)

    @property
    def most(self) -> int:
        """Largest number of records of this commit."""
        return self._size.share_of(self._limits.max_records)

    @property
    def _most_bytes(self) -> int:
        return self._size.share_of(self._limits.max_bytes) if self._limits.max_bytes else 0

    def on_commit(self, *, is_empty: bool = False) -> None:
        """Record a successful commit, which sets the time at which the next one is due.

        Args:
            is_empty: whether the commit only announced times: its success says nothing about the size of commits.
        """
        now = self._clock()
        if self._is_timed:
            # A commit that waited for the broker for minutes counts with the longest interval. Otherwise the interval
            # would stay long for many commits.
            self._cost += (min(now - self._gathered_at, self._longest) - self._cost) / _SMOOTHING
        self._is_timed = False
        interval = self._interval
        self._patience = BACKLOG_SECONDS
        # The interval begins when the commit was due. If it began when the commit ended, the time of a commit would
        # add to the latency of each record. At least half an interval is left for a slow broker.
        self._due = max(self._gathered_at + interval, now + interval / 2)
        if not is_empty:
            self._size.on_commit()

    @property
    def _interval(self) -> float:
        """Seconds between two commits: short while they are fast, longer if the broker or the logic is slow."""
        return max(self._shortest, min(self._longest, _INTERVAL_PER_COST * self._cost))

    def halve(self) -> int:
        """Make commits smaller until they succeed again; return their new largest number of records."""
        self._size.on_failure()
        return self.most
