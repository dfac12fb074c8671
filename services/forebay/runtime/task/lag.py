"""Lag of a task: how many records of its inputs it has not committed."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition

Lag = dict[str, list[int]]
"""Lag of the input partitions that are behind, by topic: partition, records, partition, records, ..."""


def measure_lag(item: TaskInput, ends: Mapping[tuple[str, int], int]) -> Lag:
    """Return the lag of a task's input partitions; partitions without lag are left out.

    Records that were read are counted one by one, so transaction markers between them do not count. Unread records are
    counted in offsets.

    Args:
        ends: ends of partitions, as of the client's latest fetch.
    """
    lag: Lag = {}
    for partition in item.partitions:
        records = (
            partition.in_commit
            + len(partition.queue)
            + _unread(partition, ends.get((partition.topic, partition.partition), -1))
        )
        # Left out if zero, because a report has room for a few kilobytes, and most partitions have no lag.
        if records:
            lag.setdefault(partition.topic, []).extend((partition.partition, records))
    return lag


def _unread(partition: InputPartition, end: int) -> int:
    # The client has reached the end, and the loop polls it every 100 ms. Later offsets belong to an open transaction or
    # are arriving now. While the loop processes records, it does not poll, and the end that it reached may be old.
    if partition.at_end and not partition.in_commit and not partition.queue:
        return 0
    # Each of the two ends may be older than the other, and both may be older than what was read since.
    return max(0, partition.end - partition.next, end - partition.next)
