"""Helpers that feed records and senders' time announcements to input and repartition partitions."""

from __future__ import annotations

from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition
from tests.runtime.simulator.broker import Record

REPARTITION = "app-grouped-repartition"


def give(part: InputPartition, *timestamps: int) -> None:
    """Append records with these timestamps to a partition's queue, at its next offsets."""
    for timestamp in timestamps:
        offset = part.next
        part.take(Record((part.topic, part.partition), offset, b"k", b"v", timestamp, None, None, 0), offset)


def forward(part: RepartitionPartition, offset: int, sender: str, timestamp: int) -> None:
    """Append a sender's record to the queue of a repartition topic's partition."""
    headers = data_headers(sender)
    part.take(Record((part.topic, part.partition), offset, b"k", b"v", timestamp, headers, None, 0), offset)


def announce_time(part: RepartitionPartition, offset: int, sender: str, time: TaskTime) -> None:
    """Append a sender's time announcement to the queue of a repartition topic's partition."""
    headers = time_headers(sender, time)
    part.take(Record((part.topic, part.partition), offset, None, None, 0, headers, None, 0), offset)
