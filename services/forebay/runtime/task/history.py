"""Passes a job's history to the inputs of a group's tasks: rows in processing order, not a consumer's records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from forebay.processor.messages import Headers
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.ports import Reader

_FETCH = 5_000
MOST_WAITING = 100_000
"""Rows that may wait in a group's queues before no more are read."""
_PAUSE_SECONDS = 0.01

Place = tuple[str, int]


class HistoryRecord:
    """A record of the history (implements `Message`)."""

    __slots__ = ("_headers", "_key", "_offset", "_partition", "_timestamp", "_topic", "_value")

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers | None,
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._key, self._value, self._timestamp, self._headers = key, value, timestamp, headers

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Headers | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp


class HistoryRow(NamedTuple):
    """A record and its place in the processing order.

    Args:
        turn: largest timestamp (ms) of its partition up to this record; -1 in a global table. Rows are sorted by turn,
            `InputPartition.order` and offset. A job that reads the partitions from their beginning merges them in the
            same order.
    """

    turn: int
    record: HistoryRecord


class HistoryReader:
    """A `Reader` that reads inputs from rows, and repartition topics from the broker.

    Args:
        rows: sorted by turn, partition and offset.
        broker: reads the repartition topics.
    """

    def __init__(self, rows: Iterator[HistoryRow], broker: Reader) -> None:
        self._rows = rows
        self._broker = broker
        self._partitions: dict[Place, list[InputPartition]] = {}
        """A global table's partition is read once and passed to every task."""
        self._behind: list[TaskInput] = []
        """The tasks' inputs with their repartition topics only."""
        self._has_more = True
        self.bytes = 0

    def assign(self, inputs: Iterable[TaskInput]) -> None:
        items = list(inputs)
        self._partitions = {}
        for partition in (partition for item in items for partition in item.partitions):
            self._partitions.setdefault((partition.topic, partition.partition), []).append(partition)
        self._behind = [TaskInput((), item.repartitions) for item in items if item.repartitions]
        if self._behind:
            self._broker.assign(self._behind)

    def read(self, seconds: float, most: int) -> int:
        # While there are rows, the broker must not delay them.
        waits = seconds if not self._has_more else 0.0
        count = self._broker.read(waits, most) if self._behind else 0
        self.bytes, self._broker.bytes = self.bytes + self._broker.bytes, 0
        if not self._has_more:
            return count
        if (
            sum(len(partition.queue) for partitions in self._partitions.values() for partition in partitions)
            >= MOST_WAITING
        ):
            if not count:
                time.sleep(min(seconds, _PAUSE_SECONDS))
            return count
        return count + self._take(min(_FETCH, max(1, most - count)))

    def _take(self, most: int) -> int:
        count, size, turn, partitions = 0, 0, -1, self._partitions
        for count, (turn, record) in enumerate(islice(self._rows, most), 1):  # noqa: B007 (used after the loop)
            place = record.topic(), record.partition()
            for partition in partitions[place]:
                partition.take(record, record.offset())
            size += len(record.key() or b"") + len(record.value() or b"")
        self.bytes += size
        self._has_more = count == most
        for partition in (partition for several in partitions.values() for partition in several):
            # Rows are sorted by turn, so later rows of any partition are not older. An empty partition then holds up no
            # other one.
            partition.begins_after = turn
            if not self._has_more:
                # A backfill ends by itself, and a task is done only if its partitions have an end.
                partition.until = partition.next
        return count

    def balance(self, inputs: Iterable[TaskInput]) -> None:
        self._broker.balance(self._behind)

    def has_all(self, item: TaskInput) -> bool:
        return all(partition.is_read for partition in item.repartitions)

    def look(self) -> None:
        if self._behind:
            self._broker.look()

    def seen_ends(self) -> dict[Place, int]:
        return self._broker.seen_ends() if self._behind else {}

    def written_ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._broker.written_ends(places)

    def close(self) -> None:
        self._broker.close()
