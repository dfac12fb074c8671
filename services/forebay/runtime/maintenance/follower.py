"""Follows the changelogs of a job's tasks, and determines where complete commits end."""

from __future__ import annotations

import abc
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicMissing
from forebay.kafka.partition_ends import Place, partition_ends
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.broker.tombstones import TombstoneWatch, kept_seconds
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.protocol.snapshot_mark import MARK

_FETCH = 10_000
_POLL_SECONDS = 0.2
_FETCH_WAIT_MS = 20
"""How long the broker delays an answer without new records. A transaction's marker follows its records and is not
returned to consumers, so only the next, empty answer shows that everything was read."""
_QUEUED_KB = 16_384
"""Limit of the client's read-ahead, because a process with millions of rows has no memory to spare."""
_AGAIN_SECONDS = 0.01
"""Time until the next round after an open transaction, because a live job's transactions end within milliseconds."""

_Waiting = tuple[int, bytes, bytes | None, int]
"""Offset, key, value and timestamp (ms) of a record."""

Offsets = Mapping[str, int]
"""Ends by topic, of one task's partition."""


class ChangelogsAnew(Unavailable):
    """The changelogs were recreated, or belong to another checkpoint now. They must be read from the beginning."""


class FollowedTask(abc.ABC):
    """One task's rows, buffered from its changelogs until complete commits can be applied.

    Args:
        rows: converts records of the sub-topology's changelogs to rows.
    """

    def __init__(self, rows: ChangelogRows) -> None:
        self.internal = rows.internal
        self.topics = rows.topics
        self._rows = rows
        self._waiting: dict[str, deque[_Waiting]] = {topic: deque() for topic in rows.topics}
        self._positions: deque[tuple[int, bytes, int]] = deque()
        self.committed_ms = -1
        """Time (ms) at which the newest applied commit was written; -1: none was applied."""
        self.begins: Mapping[str, int] = {}
        """Offsets at which to resume, by topic. Missing topics are read from the beginning."""
        self._until: Offsets = {}

    def expect(self, ends: Offsets) -> None:
        """Record that all records before `ends` will be passed to `take`."""
        self._until = ends

    def take(self, topic: str, offset: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Buffer a record (`timestamp` in ms). Records of a topic arrive in the order of their offsets."""
        # A mark is no row (see `snapshot_mark`).
        if value is None and key == MARK:
            return
        # A position ends a commit. Rows wait for it, so that readers see whole commits.
        if topic != self.internal or key != POSITION:
            self._waiting[topic].append((offset, key, value, timestamp))
        elif value is not None:
            self._positions.append((offset, value, timestamp))

    @abc.abstractmethod
    def batches_end(self, ends: Offsets) -> int:
        """Apply the complete commits before `ends`. All records before `ends` were passed to `take`.

        Returns:
            The new commit number of the rows; -1 if they did not change.
        """

    @property
    @abc.abstractmethod
    def row_count(self) -> int:
        """Number of rows."""

    def _newest(self, ends: Offsets) -> TaskPosition | None:
        """Return the position of the last commit before `ends`; None if it was returned before."""
        position = None
        # Only the last position, because several commits that have ended are applied as one.
        while self._positions and self._positions[0][0] < ends[self.internal]:
            _, position, self.committed_ms = self._positions.popleft()
        return None if position is None else TaskPosition.from_json(position)

    def _changes(self, until: Offsets) -> dict[bytes, bytes | None]:
        """Remove the buffered records before `until` and return the last value of each row."""
        changes: dict[bytes, bytes | None] = {}
        for topic, waiting in self._waiting.items():
            while waiting and waiting[0][0] < until[topic]:
                _, key, value, timestamp = waiting.popleft()
                row, data = self._rows.row(topic, key, value, timestamp)
                # So that the row moves to the end: changes are in the order of each row's last change.
                changes.pop(row, None)
                changes[row] = data
            if topic == self.internal:
                self._rows = self._rows_after(changes)
        return changes

    def _rows_after(self, changes: Mapping[bytes, bytes | None]) -> ChangelogRows:
        """Return the converter of records to rows that applies after these changes of the task's own rows."""
        return self._rows


class Follower:
    """Follows the changelogs of tasks.

    Args:
        consumer: read_committed, with partition end events; assigned here.
        tasks: the tasks of all sub-topologies, with their numbers. Each resumes at its `begins`.
        watch: detects that the follower was disconnected for too long to resume.
    """

    def __init__(
        self,
        consumer: Consumer,
        admin: AdminClient,
        tasks: Iterable[tuple[int, FollowedTask]],
        watch: TombstoneWatch,
    ) -> None:
        self._consumer = consumer
        self._admin = admin
        self._tasks = list(tasks)
        self._of_place = {(topic, number): task for number, task in self._tasks for topic in task.topics}
        self._internal = [(task.internal, number) for number, task in self._tasks]
        self._read: dict[Place, int] = {
            (topic, number): offset for number, task in self._tasks for topic, offset in task.begins.items()
        }
        self._known: Mapping[Place, int] = {}
        self._held_back = False
        self._watch = watch
        self._consumer.assign(
            [TopicPartition(*place, self._read.get(place, OFFSET_BEGINNING)) for place in self._of_place]
        )

    def follow(self, stop: threading.Event, seconds: float, on_round: Callable[[int, int], None]) -> None:
        """Catch up every `seconds` until `stop` is set. After Unavailable it can be called again, and resumes.

        If an open transaction delays a round, the next one follows soon, and then at growing intervals, so that a
        transaction that stays open costs little.

        Args:
            on_round: called after each round with the newest commit it applied (-1: none) and the number of rows.

        Raises:
            Unavailable: the broker can't be reached. ChangelogsAnew: everything must be read again.
        """
        again = min(_AGAIN_SECONDS, seconds)
        while not stop.is_set():
            batch = self.catch_up(stop)
            if not stop.is_set():
                on_round(batch, sum(task.row_count for _, task in self._tasks))
            stop.wait(again if self._held_back else seconds)
            again = min(2 * again if self._held_back else _AGAIN_SECONDS, seconds)

    @property
    def lag(self) -> int:
        """Number of unread offsets before the ends of the last round."""
        return sum(max(0, end - self._read.get(place, 0)) for place, end in list(self._known.items()))

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def catch_up(self, stop: threading.Event) -> int:
        """Read the available records and apply all complete commits. Return the number of the newest one, -1 for none.

        A task's commits are complete at the last stable offsets, unless a transaction was open in any of its changelogs
        at that moment. The end of a transaction is written to one partition after the other, so a position may be
        readable before its rows.

        Raises:
            Unavailable: the broker can't be reached. ChangelogsAnew: everything must be read again.
        """
        asked = self._watch.now()
        # In this order: if a transaction is open or ends between the first and the last answer, the answers differ, and
        # the task waits for the next round. This works because every transaction of a task writes its internal
        # changelog.
        before = self._ends(self._internal, IsolationLevel.READ_COMMITTED)
        ends = self._ends(self._of_place, IsolationLevel.READ_COMMITTED)
        after = self._ends(self._of_place, IsolationLevel.READ_UNCOMMITTED)
        self._known = ends
        for number, task in self._tasks:
            task.expect({topic: ends[topic, number] for topic in task.topics})
        self._read_to(ends, stop)
        if stop.is_set():
            return -1
        # After the read, because compaction may have removed deletes during it.
        away = self._watch.missed_seconds()
        if away:
            raise ChangelogsAnew(
                f"the changelogs were not read for {away:.0f} s, longer than they keep deletes (delete.retention.ms)"
            )
        self._watch.all_read(asked)
        whole = [
            (number, task)
            for number, task in self._tasks
            if before[task.internal, number] == after[task.internal, number]
            and all(ends[topic, number] == after[topic, number] for topic in task.topics)
        ]
        # The transactions of a running job are short, so an early next round is cheap, and the copy is not a whole
        # interval behind.
        self._held_back = len(whole) < len(self._tasks)
        batches = [task.batches_end({topic: ends[topic, number] for topic in task.topics}) for number, task in whole]
        return max(batches, default=-1)

    def _ends(self, places: Iterable[Place], isolation: IsolationLevel) -> dict[Place, int]:
        return partition_ends(self._admin, places, isolation, "the changelogs'")

    def _read_to(self, ends: Mapping[Place, int], stop: threading.Event) -> None:
        while not stop.is_set() and any(self._read.get(place, 0) < end for place, end in ends.items()):
            for message in self._consumer.consume(_FETCH, 0) or self._first():
                self._take(message)

    def _first(self) -> list[Message]:
        """Wait for one record, because `consume` would wait until it has the full number of records."""
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _take(self, message: Message) -> None:
        error, topic, number, offset = message.error(), message.topic(), message.partition(), message.offset()
        if error is not None and (error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET):
            raise ChangelogsAnew(f"{topic}-{number}: {error}")
        if topic is None or number is None or offset is None:
            return
        if error is None:
            if offset < self._read.get((topic, number), 0):
                return  # after a leader election, the client may return records again
            self._read[topic, number] = offset + 1
            key, value, timestamp = message.key() or b"", message.value(), message.timestamp()[1]
            self._of_place[topic, number].take(topic, offset, key, value, timestamp)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._read[topic, number] = offset


def count_followed(kafka: KafkaSettings, log: SubTopologyLog) -> int:
    """Return the number of a job's tasks: the partitions of an internal changelog. Raises TopicMissing."""
    tasks = TopicAdmin(kafka).partitions([log.internal]).get(log.internal)
    if tasks is None:
        raise TopicMissing(
            f"the topic {log.internal} does not exist: start the job, or run `forebay topics create SERVICE`"
        )
    return tasks


def follower_of(kafka: KafkaSettings, group: str, tasks: Iterable[tuple[int, FollowedTask]]) -> Follower:
    """Return a follower of the tasks, connected under a consumer group's name. It commits nothing."""
    followed = list(tasks)
    watch = TombstoneWatch(kept_seconds(kafka, {topic for _, task in followed for topic in task.topics}))
    options = {"group.id": group, "fetch.wait.max.ms": _FETCH_WAIT_MS, "queued.max.messages.kbytes": _QUEUED_KB}
    return Follower(Consumer(kafka.consumer(**options)), AdminClient(kafka.admin()), followed, watch)
