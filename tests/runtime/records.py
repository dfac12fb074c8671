"""Records of input partitions, and senders' reports in repartition topics."""

from __future__ import annotations

from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition
from tests.runtime.simulator.broker import Record

REPARTITION = "app-grouped-repartition"


def give(part: InputPartition, *timestamps: int) -> None:
    """Let a partition read records with these timestamps, at its next offsets."""
    for timestamp in timestamps:
        offset = part.next
        part.take(Record((part.topic, part.partition), offset, b"k", b"v", timestamp, None, None, 0), offset)


def forward(part: RepartitionPartition, offset: int, sender: str, timestamp: int) -> None:
    """Let a repartition topic's partition read a record that a sender forwarded."""
    headers = data_headers(sender)
    part.take(Record((part.topic, part.partition), offset, b"k", b"v", timestamp, headers, None, 0), offset)


def announce_time(part: RepartitionPartition, offset: int, sender: str, time: TaskTime) -> None:
    """Let a repartition topic's partition read a sender's report of its time."""
    headers = time_headers(sender, time)
    part.take(Record((part.topic, part.partition), offset, None, None, 0, headers, None, 0), offset)
