"""A backfill processes rows in the order in which a job merges the same partitions."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from forebay.in_memory.broker import MemoryReader
from forebay.in_memory.topics import Topics
from forebay.runtime.task.history import HistoryReader, HistoryRecord, HistoryRow
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import EVER, GLOBAL, InputPartition

Place = tuple[str, int, int]
PARTITIONS = (("towns", 0, GLOBAL), ("prices", 0, 0), ("prices", 1, 0), ("clicks", 0, 1), ("clicks", 1, 1))


def task_input(until: int) -> TaskInput:
    return TaskInput([InputPartition(topic, number, rank, 0, until) for topic, number, rank in PARTITIONS])


def fill_topics(draw: random.Random) -> Topics:
    """Return topics whose records are out of order, with many equal timestamps."""
    topics = Topics()
    for topic in dict.fromkeys(topic for topic, _, _ in PARTITIONS):
        topics.create(topic, 2)
    for topic, number, _ in PARTITIONS:
        at = 0
        for _ in range(draw.randrange(40)):
            at += draw.choice((0, 0, 1, 2, 5))
            topics.partition(topic, number).append(b"k", b"v", max(0, at - draw.choice((0, 0, 0, 3, 20))), [])
    return topics


def sort_rows(topics: Topics) -> list[HistoryRow]:
    """Return all records as `forebay.spark.history.order_history` sorts them."""
    ordered = []
    for topic, number, rank in PARTITIONS:
        turn = -1
        for record in topics.partition(topic, number).records:
            turn = -1 if rank == GLOBAL else max(turn, record.timestamp_)
            row = HistoryRecord(topic, number, record.offset_, b"k", b"v", record.timestamp_, None)
            ordered.append(((turn, rank, topic, number, record.offset_), row))
    return [HistoryRow(place[0], row) for place, row in sorted(ordered, key=lambda item: item[0])]


def take_each(item: TaskInput) -> Iterator[Place]:
    """Yield the positions of the records that are ready, one by one."""
    while True:
        taken = [message for stream in item.ready(1) for message in stream]
        if not taken:
            return
        yield from ((message.topic(), message.partition(), message.offset()) for message in taken)


@pytest.mark.parametrize("seed", range(50))
def test_the_order_is_that_of_a_merge(seed: int) -> None:
    draw = random.Random(seed)
    topics = fill_topics(draw)
    live, reader = task_input(-1), MemoryReader(topics)
    reader.assign([live])
    while reader.has_more:
        reader.read(0.0, 1_000)
    reader.look()
    wanted = list(take_each(live))
    rows, item = sort_rows(topics), task_input(EVER)
    assert [(row.record.topic(), row.record.partition(), row.record.offset()) for row in rows] == wanted
    history = HistoryReader(iter(rows), MemoryReader(topics))
    history.assign([item])
    order: list[Place] = []
    while not item.is_done(0):
        history.read(0.0, draw.randrange(1, 9))
        order += take_each(item)
    assert order == wanted
