"""A task's part of a transaction, and how it is sent: outputs, repartition records, times, changed rows, position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from forebay.partitioner import Partitioner
from forebay.processor.batch import BatchResult
from forebay.processor.messages import Headers, SideRecord
from forebay.processor.repartition_headers import forwarded_headers
from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers

_BATCH = 10_000


class Queue(Protocol):
    """The queue of records on their way to a broker (see `send_queue.SendQueue`)."""

    @property
    def put(self) -> Callable[..., None]:
        """A function that queues a record. If the queue is full, it raises BufferError; `produce` waits instead."""
        ...

    @property
    def produce(self) -> Callable[..., None]:
        """A function that queues a record: topic, value, key, partition (default: the key's), timestamp=, headers=."""
        ...

    def make_room(self) -> None:
        """Wait until there is room for `_BATCH` records."""
        ...


@dataclass(frozen=True, slots=True)
class Destinations:
    """Topics of a job's records. Outputs name their own topic.

    Args:
        repartitions: topics by name of the repartition.
        partitioner: partitioner of the repartition topics, which have one partition for each task.
        outputs: topics by output name, for outputs whose topic has another name.
        digests: of the formats of the repartitions' records, by name (see `RecordFormat`).
    """

    errors: str
    late: str
    repartitions: Mapping[str, str]
    partitioner: Partitioner
    outputs: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """One task's part of a transaction.

    Args:
        sender: name of the task in the records that it sends to downstream tasks.
        times: repartitions to which the task announces its time, each with that time. Every partition receives it.
        sent: number of records sent, by repartition topic and partition; filled while they are sent.
    """

    name: str
    sender: str
    result: BatchResult
    position: TaskPosition
    changelogs: ChangelogRouter
    times: tuple[tuple[str, TaskTime], ...] = ()
    sent: dict[str, list[int]] = field(default_factory=dict)

    @property
    def timestamp(self) -> int:
        """Timestamp (ms) of the position, and of rows without a timestamp."""
        # Stream time is -1 before the first record. For 0, the client would write the time of its own clock.
        return max(self.position.stream_time, 0)


def send(queue: Queue, commit: TaskCommit, destinations: Destinations) -> None:
    """Queue all records of a commit except its position.

    The caller sends the position last, in the internal changelog, so that a reader of the changelogs finds it after
    the rows that it covers.
    """
    result, topic_of = commit.result, destinations.outputs.get
    for start in range(0, len(result.outputs), _BATCH):
        queue.make_room()
        # The client's queue usually has room, so the client is called directly. Calling `produce` for every record,
        # only to handle a full queue, took measurably more CPU.
        put, produce = queue.put, queue.produce
        for key, value, timestamp, target, headers, chosen in result.outputs[start : start + _BATCH]:
            topic = topic_of(target, target)
            if chosen is not None:
                produce(topic, value, key, chosen, timestamp=timestamp, headers=headers or [])
            elif headers:
                produce(topic, value, key, timestamp=timestamp, headers=headers)
            else:
                try:
                    put(topic, value, key, timestamp=timestamp)
                except BufferError:
                    produce(topic, value, key, timestamp=timestamp)
    _send_onward(queue, commit, destinations)
    changelogs = commit.changelogs
    timestamp, partition = commit.timestamp, changelogs.partition
    for start in range(0, len(result.changes), _BATCH):
        queue.make_room()
        put, produce = queue.put, queue.produce
        for topic, key, row, at in changelogs.route(result.changes[start : start + _BATCH], timestamp):
            try:
                put(topic, row, key, partition, timestamp=at)
            except BufferError:
                produce(topic, row, key, partition, timestamp=at)
    _send_side(queue, destinations.errors, result.errors)
    _send_side(queue, destinations.late, result.late)


def _send_onward(queue: Queue, commit: TaskCommit, destinations: Destinations) -> None:
    topics, partitioner = destinations.repartitions, destinations.partitioner
    onward, digests = commit.result.onward, destinations.digests
    if not onward and not commit.times:
        return
    sent = {name: [0] * partitioner.partitions for name in topics}
    routes = {
        name: (topic, [*data_headers(commit.sender, digests.get(name, ""))], sent[name])
        for name, topic in topics.items()
    }
    for start in range(0, len(onward), _BATCH):
        queue.make_room()
        produce = queue.produce
        for key, value, timestamp, name, headers, chosen in onward[start : start + _BATCH]:
            topic, sender, counts = routes[name]
            marked = forwarded_headers(sender, headers) if headers else sender
            # Not the client's partitioner: the partition of a repartition topic is the number of the task that owns the
            # key.
            place = partitioner(key or b"") if chosen is None else chosen % partitioner.partitions
            produce(topic, value, key, place, timestamp=timestamp, headers=marked)
            counts[place] += 1
    for name, time in commit.times:
        # After the records of this commit, because a reader relies on an announcement for all records before it.
        announcement: Headers = [*time_headers(commit.sender, time)]
        for number in range(partitioner.partitions):
            queue.produce(topics[name], None, None, number, timestamp=max(time.stream_time, 0), headers=[*announcement])
            # Announcements are counted, too, because the reader counts all records of its sender
            # (`SenderStream.taken`).
            sent[name][number] += 1
    commit.sent.update({topics[name]: counts for name, counts in sent.items()})


def _send_side(queue: Queue, topic: str, records: list[SideRecord]) -> None:
    for index, (key, value, timestamp, headers) in enumerate(records):
        if index % _BATCH == 0:
            queue.make_room()
        queue.produce(topic, value, key, timestamp=timestamp, headers=[*headers])
