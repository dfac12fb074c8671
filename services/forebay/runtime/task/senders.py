"""The senders that forward records to a group's tasks: tasks of the group itself, and tasks of other groups."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable

from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.announce import idle_interval
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.ports import Reader
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.runtime.task.sender_stream import Frontier, SenderStream
from forebay.runtime.task.state_task import StateTask

log = logging.getLogger(__name__)

_PATIENCE = 4.5
"""Number of announcement intervals after which the last announcement of a sender in another group expires.

An announcement counts as made an interval before it was written, it may have been written an interval before the reader
saw it, and the next one follows an interval later. With less than three intervals, announcements of a running sender
would expire."""

_LOOK_SECONDS = 0.5
_PROCESSING_SHARE = 1 / 3
"""Share of that time for which the reader processes records for one commit, even if it processes them twice.

If it processed for longer, every announcement would have expired when it is read. The remaining time is for reading and
for the commit, and for the interval by which an announcement counts as older."""


class Senders:
    """Determines how far a reader may rely on each sender.

    A sender of the same group starts and stops with the reader, and its input is known: its progress is measured before
    each commit. A sender of another group may have been killed, fenced or moved. Only its announcements show that it
    runs.
    """

    def __init__(self, tasks: Iterable[StateTask], reader: Reader, monotonic: Callable[[], float]) -> None:
        self._tasks = list(tasks)
        self._reader = reader
        self._looked_at = float("-inf")
        self._monotonic = monotonic
        self._patience = _PATIENCE
        self._lease = 0
        self._frontiers: dict[bytes, Frontier] = {}
        self._local: list[tuple[StateTask, Frontier]] = []
        """Senders of this group, each after the senders that forward to it."""
        self._readers: list[StateTask] = []
        self._reported: dict[tuple[str, int], int] = {}
        """Records dropped so far, by partition."""
        self._apart: list[tuple[RepartitionPartition, list[SenderStream]]] = []
        """Senders of other groups, by partition."""

    def begin(self, lease: Lease) -> None:
        """Start with the tasks' current inputs. Raises Unavailable."""
        # The clock is read before the request. Only then is a record behind these ends certainly written after that
        # time.
        now, ends = self._monotonic(), self._ends(self._partitions())
        self._readers = [task for task in self._tasks if task.input.repartitions]
        self._reported = {}
        self._patience = _PATIENCE * idle_interval(lease.tasks)
        by_name = {task.sender.encode(): task for task in self._tasks}
        frontiers = {name: Frontier() for name, task in by_name.items() if task.settings.sends}
        self._frontiers = frontiers
        self._apart = []
        for partition in self._partitions():
            partition.begin(ends[partition.topic, partition.partition], now)
            for name, stream in partition.senders.items():
                # A sender of this group runs whenever its reader runs, so its progress is measured, and its
                # announcements are not needed.
                stream.frontier = frontiers.get(name)
            apart = [stream for stream in partition.senders.values() if stream.frontier is None]
            if apart:
                self._apart.append((partition, apart))
        is_read = {name for partition in self._partitions() for name in partition.senders}
        ordered: dict[bytes, None] = {}
        for name in frontiers.keys() & is_read:
            _order(name, by_name, frontiers.keys(), ordered)
        self._local = [(by_name[name], frontiers[name]) for name in ordered]

    @property
    def processing_seconds(self) -> float:
        """How long (s) the reader processes records for one commit, so that it reads announcements in time."""
        return _PROCESSING_SHARE * self._patience if self._apart else math.inf

    def look(self) -> None:
        """Ask at intervals where the partitions end; called in each commit. Raises Unavailable."""
        now = self._monotonic()
        # Only senders of other groups have to show by their announcements that they run.
        if not self._apart or now - self._looked_at < _LOOK_SECONDS:
            return
        ends = self._ends(partition for partition, _ in self._apart)
        # The time before the request, because an announcement counts only if it was certainly written later.
        self._looked_at = now
        for partition, _ in self._apart:
            partition.look(ends[partition.topic, partition.partition], now)

    def measure(self, lease: Lease) -> None:
        """Update the progress of the senders, before any task of the group processes a record."""
        if lease.token != self._lease:
            self._lease = lease.token
            for partition in self._partitions():
                partition.lease = lease.token
        if self._apart:
            before = self._monotonic() - self._patience
            for _, streams in self._apart:
                for stream in streams:
                    stream.expire(before)
        for task, frontier in self._local:
            # Upstream tasks come first, because the frontier of a task depends on what its own senders promise.
            frontier.time = task.input.frontier
        for task in self._readers:
            if task.input.dropped:
                self._report(task)

    def _report(self, task: StateTask) -> None:
        """Count, and log once, the records that a task drops."""
        for partition in task.input.repartitions:
            new = partition.dropped - self._reported.get((partition.topic, partition.partition), 0)
            if not new:
                continue
            if (partition.topic, partition.partition) not in self._reported:
                log.warning(
                    "%s: records in %s-%d are dropped: this release lacks the tasks that forwarded them (%s). "
                    "forebay_records_dropped_total counts them. To process such records, run the earlier release with "
                    "`--trigger available-now` before this one",
                    task.settings.name,
                    partition.topic,
                    partition.partition,
                    ", ".join(sorted(partition.strangers)[:5]),
                )
            self._reported[partition.topic, partition.partition] = partition.dropped
            task.figures.dropped[partition.topic] = task.figures.dropped.get(partition.topic, 0) + new

    def on_commit(self, commits: Iterable[TaskCommit]) -> None:
        """Count the repartition records of a successful commit."""
        for commit in commits:
            frontier = self._frontiers.get(commit.sender.encode())
            # Only once it is committed: a reader must not wait for records of a commit that failed.
            if frontier is not None:
                frontier.add(commit.sent)

    def _ends(self, partitions: Iterable[RepartitionPartition]) -> dict[tuple[str, int], int]:
        places = {(partition.topic, partition.partition) for partition in partitions}
        return self._reader.written_ends(places) if places else {}

    def _partitions(self) -> list[RepartitionPartition]:
        return [partition for task in self._tasks for partition in task.input.repartitions]


def _order(name: bytes, tasks: dict[bytes, StateTask], senders: Iterable[bytes], ordered: dict[bytes, None]) -> None:
    """Add a sender to `ordered`, after the senders that forward to it."""
    # Sub-topologies have no cycles (`job._check_order`), so the recursion ends.
    if name in ordered:
        return
    for partition in tasks[name].input.repartitions:
        for before in partition.senders.keys() & senders:
            _order(before, tasks, senders, ordered)
    ordered[name] = None
