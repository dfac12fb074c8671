"""When a commit is due: soon while caught up, less often in a backlog, never beyond limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from forebay.runtime.task.commit_size import CommitSize

BACKLOG_SECONDS = 1.0
READ_AHEAD = 10_000
"""Records that are queued where a commit takes fewer.

A group has one consumer, and a consumer has one queue. Repartitioned records would lie behind all fetched input
records, and a sub-topology that merges by time waits for the slowest of its senders. With a queue for each, every
sub-topology gets a share of the commit.
"""
_AHEAD_BYTES = 8 << 20
"""Of these records, as large as the last ones were."""
_FULL_READ = 1_000
"""Records that arrive at once where there are more behind them."""
_INTERVAL_PER_COST = 2.0
"""How many times as long as a commit takes the time between two commits is at least, if the limits allow it."""
_SMOOTHING = 8.0
"""Commits over which the cost is averaged, so that a single slow commit changes little."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Admission control of one commit.

    Args:
        max_records: of a commit, over all partitions of a group.
        max_bytes: of a commit; 0: no limit.
        commit_interval_ms: longest time between two commits while caught up.
        shortest_interval_ms: shortest such time, if commits take little of it.
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
    """Decides when what was read is processed and committed.

    Args:
        read_ahead: records that may be queued where a commit takes fewer.
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
        """Note that a group begins: its first commit, which shows that it works, gathers for one interval at most."""
        self._patience = min(BACKLOG_SECONDS, self._longest)
        self._is_timed = False

    def begin(self, waiting: int, *, goes_on: bool = False) -> None:
        """Begin to gather; `waiting` records are there.

        Args:
            goes_on: whether the last commit could not take all: the next one is due.
        """
        self._records, self._bytes = 0, 0
        self._waiting, self._goes_on = waiting, goes_on
        self._begun = self._clock()
        self._first_at = self._begun if waiting else None

    def took(self, records: int, size: int) -> None:
        """Count what was read."""
        self._records += records
        self._bytes += size
        if not records:
            return
        self._record_bytes = max(1, size // records)
        if self._first_at is None:
            self._first_at = self._clock()

    def wait(self) -> float:
        """Return how long (seconds) to wait for more: until the commit is due."""
        if self._first_at is None:
            return 3_600.0
        if self.is_full:
            return 0.0
        return max(0.0, self._due - self._clock())

    def is_due(self, count: int) -> bool:
        """Return whether the buffered records should be processed now; `count` records came last."""
        if self._first_at is None:
            return False
        now = self._clock()
        if self.is_full or now - self._begun >= self._patience:
            return True
        # A full read shows that more records wait. They join this commit, because a backlog is drained faster with few
        # transactions.
        return now >= self._due and count < _FULL_READ

    def on_due(self) -> None:
        """Note that the commit is due: the interval to the next one begins."""
        self._gathered_at, self._is_timed = self._clock(), True

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there."""
        return self._first_at is None

    @property
    def is_full(self) -> bool:
        """Whether a commit can't take more."""
        return self._goes_on or self.is_loaded

    @property
    def is_loaded(self) -> bool:
        """Whether as much was read since `begin` as a commit can take."""
        return self._records >= self.most or 0 < self._most_bytes <= self._bytes

    @property
    def is_spent(self) -> bool:
        """Whether a backlog has been gathered for long enough."""
        return self._clock() - self._begun >= BACKLOG_SECONDS

    @property
    def room(self) -> int:
        """Records that may be read at once: those of this commit, and where it is small some ahead."""
        ahead = min(self._read_ahead, _AHEAD_BYTES // self._record_bytes) - self._waiting
        return max(1, max(self.most, ahead) - self._records)

    @property
    def most(self) -> int:
        """Records this commit may have."""
        return self._size.share_of(self._limits.max_records)

    @property
    def _most_bytes(self) -> int:
        return self._size.share_of(self._limits.max_bytes) if self._limits.max_bytes else 0

    def on_commit(self, *, is_empty: bool = False) -> None:
        """Note that a commit is through: the next is due an interval after this one was, but half a one after its end.

        So what a commit takes, from the last look at the inputs on, adds nothing to a record's time, and a broker that
        takes its time gets a rest.

        Args:
            is_empty: whether the commit only announced times: its success says nothing about the size of commits.
        """
        now = self._clock()
        if self._is_timed:
            # A commit that waited for minutes for the broker counts as one that takes the longest interval, or else
            # the interval would stay long for many commits.
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
        """Seconds between two commits: short while they are cheap, longer where the broker or the logic takes long."""
        return max(self._shortest, min(self._longest, _INTERVAL_PER_COST * self._cost))

    def halve(self) -> int:
        """Make commits smaller, until they succeed again; return how many records they may have now."""
        self._size.on_failure()
        return self.most
