"""What a task adds to a transaction, and how it is sent: outputs, onward records, times, changed rows, the position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from forebay.partitioner import Partitioner
from forebay.processor.batch import BatchResult
from forebay.processor.forwarded import forwarded_headers
from forebay.processor.messages import Headers, SideRecord
from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers

_BATCH = 10_000


class Queue(Protocol):
    """What records are put into on their way to a broker (see `send_queue.SendQueue`)."""

    @property
    def put(self) -> Callable[..., None]:
        """Queue a record where there is room, else raise BufferError: then it is `produce` that waits."""
        ...

    @property
    def produce(self) -> Callable[..., None]:
        """Queue a record: topic, value, key, partition (the key's unless given), timestamp=, headers=."""
        ...

    def make_room(self) -> None:
        """Wait until there is room for `_BATCH` records."""
        ...


@dataclass(frozen=True, slots=True)
class Destinations:
    """Where what a job sends goes; outputs name their own topic.

    Args:
        repartitions: topic by name of a repartition.
        partitioner: of the repartition topics: their partitions are the tasks.
        outputs: topic by an output's name, where they differ.
    """

    errors: str
    late: str
    repartitions: Mapping[str, str]
    partitioner: Partitioner
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """What one task adds to a transaction.

    Args:
        sender: names the task to downstream tasks.
        times: names of the repartitions in which every partition receives the task's time, with that time.
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
        """Timestamp (ms) of its rows that carry none, and of its position."""
        # Stream time is -1 before the first record. The client takes 0 for no timestamp, and writes its clock's time.
        return max(self.position.stream_time, 0)


def send(queue: Queue, commit: TaskCommit, destinations: Destinations) -> None:
    """Queue everything of a commit except its position, which comes last, in the internal changelog.

    A reader of the changelogs therefore finds it after the rows that it covers.
    """
    result, topic_of = commit.result, destinations.outputs.get
    for start in range(0, len(result.outputs), _BATCH):
        queue.make_room()
        # Most records find room in the client's queue. For them the client itself is called, because a call of
        # `produce` for each record took measurably more CPU, only to catch a full queue.
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
    onward, sender = commit.result.onward, [*data_headers(commit.sender)]
    if not onward and not commit.times:
        return
    sent = {name: [0] * partitioner.partitions for name in topics}
    for start in range(0, len(onward), _BATCH):
        queue.make_room()
        produce = queue.produce
        for key, value, timestamp, name, headers, chosen in onward[start : start + _BATCH]:
            marked = forwarded_headers(sender, headers) if headers else sender
            # Not the client's partitioner: the partition of a repartition topic is the number of the task that owns the
            # key.
            place = partitioner(key or b"") if chosen is None else chosen % partitioner.partitions
            produce(topics[name], value, key, place, timestamp=timestamp, headers=marked)
            sent[name][place] += 1
    for name, time in commit.times:
        # Behind the records of this commit: a reader relies on an announcement for everything that lies before it.
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
