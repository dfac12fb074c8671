"""Implementations in memory of the interfaces that a task group uses (see `forebay.runtime.task.ports`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from forebay.in_memory.records import Sink
from forebay.in_memory.topics import Partition, Place, Topics
from forebay.job import Job
from forebay.partitioner import Partitioner
from forebay.processor.messages import Headers
from forebay.runtime.changelog.topics import ChangelogRows, internal_topic
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.snapshot_mark import SnapshotMark
from forebay.runtime.task.commit import Destinations, TaskCommit, send
from forebay.runtime.task.inputs import MOST_WAITING, TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.reads import task_input
from forebay.runtime.task.record_formats import record_formats
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.runtime.task.tail import Tail
from forebay.stores.memory import MemoryTable

_FETCH = 5_000

PartitionQueue = InputPartition | RepartitionPartition


class MemoryReader:
    """A reader of topics in memory for the inputs of the tasks (implements `Reader`).

    Each input's partition is read from its own position.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._queues: list[tuple[PartitionQueue, Partition]] = []
        self._waiting: set[int] = set()
        """The id() of each input partition that waits for other partitions and is not read further."""
        self.bytes = 0

    def assign(self, inputs: Iterable[TaskInput]) -> None:
        queues = (queue for item in inputs for queue in item.all_partitions)
        self._queues = [(queue, self._topics.partition(queue.topic, queue.partition)) for queue in queues]

    def read(self, seconds: float, most: int) -> int:
        count = 0
        for queue, partition in self._queues:
            begin, end = queue.next, partition.end
            if begin < end and self._takes(queue):
                start = partition.place_of(begin)
                assert begin >= partition.first, f"{queue.topic}-{queue.partition}: offset {begin} was forgotten"
                records = partition.records[start : start + min(_FETCH, most - count)]
                for record in records:
                    queue.take(record, record.offset_)
                count += len(records)
            if queue.next >= end:
                queue.reach_end(end)
        return count

    def balance(self, inputs: Iterable[TaskInput]) -> None:
        for item in inputs:
            if item.merges:
                for queue in item.partitions:
                    if len(queue.queue) > MOST_WAITING:
                        self._waiting.add(id(queue))
                    elif self._waiting:
                        self._waiting.discard(id(queue))
                for repartition in item.repartitions:
                    repartition.rewind()

    def has_all(self, item: TaskInput) -> bool:
        return item.is_read or all(queue.is_read or id(queue) in self._waiting for queue in item.all_partitions)

    def look(self) -> None:
        for queue, partition in self._queues:
            queue.end = partition.end

    def seen_ends(self) -> dict[Place, int]:
        return {(queue.topic, queue.partition): partition.end for queue, partition in self._queues}

    def written_ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: self._topics.partition(*place).end for place in places}

    def close(self) -> None:
        self._queues = []

    @property
    def has_more(self) -> bool:
        """Whether there are unread records."""
        return any(queue.next < partition.end and self._takes(queue) for queue, partition in self._queues)

    def _takes(self, queue: PartitionQueue) -> bool:
        if isinstance(queue, RepartitionPartition):
            return True
        return id(queue) not in self._waiting and not 0 <= queue.until <= queue.next

    def end_here(self, is_end: bool) -> None:
        """Make inputs end at the position up to which they were read, or make them continue."""
        for queue, _ in self._queues:
            if isinstance(queue, InputPartition):
                queue.until = queue.next if is_end else -1


class MemoryProducer:
    """A producer for topics in memory (implements `Committer`, and `Queue` for the records of a commit).

    Args:
        sinks: Functions that receive the records sent to outputs, `.errors` and `.late`, by topic.
    """

    def __init__(self, topics: Topics, destinations: Destinations, partitioner: Partitioner, sinks: Mapping[str, Sink]):
        self._topics = topics
        self._destinations = destinations
        self._partition_of = partitioner
        self._sinks = sinks
        self.is_open = False
        self.duplicates = 0

    def fence(self) -> None:
        self.is_open = True

    def discard(self) -> None:
        self.is_open = False

    def commit(
        self,
        commits: Sequence[TaskCommit],
        marked: Sequence[TaskPosition] = (),
        marks: Sequence[SnapshotMark] = (),
    ) -> None:
        for commit in commits:
            send(self, commit, self._destinations)
            self._topics.positions[commit.changelogs.internal, commit.changelogs.partition] = commit.position
            self.duplicates += commit.result.duplicates

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None = None,
        timestamp: int = 0,
        headers: Headers | None = None,
    ) -> None:
        """Add a record to its topic, and pass it to the topic's sink."""
        sink = self._sinks.get(topic)
        if sink is not None:
            sink(key, value, timestamp, headers, partition)
        read = self._topics.partitions.get(topic)
        if read is not None:
            number = self._partition_of(key or b"") if partition is None else partition
            read[number].append(key, value, timestamp, list(headers or ()))
        elif sink is None:
            self._topics.changelog(topic, partition or 0).append(key or b"", value, timestamp)

    put = produce
    """The queue is never full."""

    def make_room(self) -> None:
        """Do nothing, because the queue is never full."""


class MemorySurroundings:
    """Changelogs, positions and inputs in memory (implements `Surroundings`)."""

    def __init__(self, topics: Topics, job: Job, application: str) -> None:
        self._topics = topics
        self._job = job
        self._formats = record_formats(application, job)
        self._application = application

    def markers(self, places: Iterable[Place]) -> dict[Place, str]:
        return {}

    def read_tails(self, tails: list[Tail]) -> None:
        for tail in tails:
            for topic in tail.rows.topics:
                changelog = self._topics.changelog(topic, tail.number)
                for key, value, timestamp in changelog.records(tail.offsets.get(topic, 0)):
                    tail.take(topic, key, value, timestamp)
                tail.offsets[topic] = changelog.end
            tail.position = self._topics.positions.get((tail.rows.internal, tail.number))
            tail.apply()

    def former(self, number: int) -> list[Tail]:
        known = {internal_topic(self._application, place) for place in range(len(self._job.topology))}
        topics = sorted({topic for topic, _ in self._topics.positions} - known)
        return [Tail(topic, ChangelogRows({}, topic), number, MemoryTable(), {}) for topic in topics]

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: self._topics.changelog(*place).end for place in places}

    def inputs(self, place: tuple[int, int], lease: Lease, position: TaskPosition) -> TaskInput:
        return task_input(self._job, self._application, place, lease, position, formats=self._formats)

    def check_topics(self, lease: Lease) -> None:
        """Do nothing, because topics in memory are never recreated."""

    def purge(self, ends: Mapping[Place, int]) -> None:
        for (topic, number), end in ends.items():
            self._topics.partition(topic, number).delete_before(end)
