"""Another thread can read the partitions' ends while the loop waits for records.

confluent-kafka serves one thread at a time, and a waiting thread may starve while another thread polls repeatedly. A
lease would then last for minutes after the driver ended it.
"""

from __future__ import annotations

import threading
from typing import Any

from confluent_kafka import TopicPartition

from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.worker.reader import GroupReader


class Client:
    """A consumer without records, whose `poll` returns when the test releases it."""

    def __init__(self) -> None:
        self.polls, self.released = threading.Event(), threading.Event()
        self.end = 7

    def assign(self, _places: list[TopicPartition]) -> None:
        return

    def consume(self, _most: int, _seconds: float) -> list[Any]:
        return []

    def poll(self, _seconds: float) -> None:
        self.polls.set()
        assert self.released.wait(30)
        self.polls.clear()

    def get_watermark_offsets(self, _place: TopicPartition, cached: bool) -> tuple[int, int]:
        assert cached
        assert not self.polls.is_set(), "it would wait until the poll is over, and perhaps for the next ones"
        return 0, self.end


def test_the_ends_are_known_while_the_loop_polls() -> None:
    client: Any = Client()
    now = [0.0]
    reader = GroupReader(client, client, monotonic=lambda: now[0])
    reader.assign([TaskInput([InputPartition("orders", 0, 0, 0)])])
    reader.read(0.0, 10)
    client.end, now[0] = 9, 1.0
    assert reader.seen_ends() == {("orders", 0): 9}, "the loop does not poll, as while it processes records"

    loop = threading.Thread(target=reader.read, args=(1.0, 10))
    loop.start()
    assert client.polls.wait(30)
    assert reader.seen_ends() == {("orders", 0): 7}, "the ends that the loop noted last"
    client.released.set()
    loop.join(30)
    assert not loop.is_alive()
    assert reader.seen_ends() == {("orders", 0): 9}


def test_ends_of_partitions_that_are_no_longer_assigned_are_forgotten() -> None:
    client: Any = Client()
    client.released.set()
    reader = GroupReader(client, client)
    reader.assign([TaskInput([InputPartition("orders", 0, 0, 0)])])
    reader.read(0.0, 10)
    reader.assign([])
    with reader._polling:
        assert reader.seen_ends() == {}
