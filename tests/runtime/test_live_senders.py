"""A sender counts as caught up only if its announcement is recent and newer than the reader's start."""

from __future__ import annotations

from collections import deque

import pytest

from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import EVER, InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.runtime.task.sender_stream import Frontier, SenderStream
from tests.runtime.records import REPARTITION, announce_time, forward, give

A = "0-0"
CAUGHT_UP = TaskTime(50, caught_up=True)
LEASE = 7 << 32 | 3


def new_partition(end: int, known: tuple[SenderTime, ...] = (), at: float = 100.0) -> RepartitionPartition:
    """Return a partition whose end offset was `end` when its reader started."""
    part = RepartitionPartition(REPARTITION, 0, [A], known, 0, lease=LEASE)
    part.begin(end, at)
    return part


def sender(part: RepartitionPartition) -> SenderStream:
    return part.senders[A.encode()]


def have_caught_up(part: RepartitionPartition) -> bool:
    """Return `senders_caught_up`. A function, because mypy would narrow the property after the first assertion."""
    return part.senders_caught_up


def announce_twice(part: RepartitionPartition, offset: int, sender: str, time: TaskTime) -> None:
    """Append two announcements, which is what a reader needs to rely on the second."""
    announce_time(part, offset, sender, time)
    announce_time(part, offset + 1, sender, time)


def read(part: RepartitionPartition, end: int) -> None:
    part.reach_end(end)
    part.end = end


@pytest.mark.parametrize("known", [(), (SenderTime(REPARTITION, A, -1, 50),)])
def test_an_announcement_from_before_the_reader_s_start_provides_only_a_time(known: tuple[SenderTime, ...]) -> None:
    part = new_partition(2, known)
    announce_time(part, 0, A, TaskTime(20, caught_up=True))
    announce_time(part, 1, A, CAUGHT_UP)
    read(part, 2)
    assert not have_caught_up(part)
    assert sender(part).promise() == 50
    announce_time(part, 2, A, CAUGHT_UP)
    read(part, 3)
    assert not have_caught_up(part), "the sender may have determined its state before the reader's start"
    announce_time(part, 3, A, CAUGHT_UP)
    read(part, 4)
    assert have_caught_up(part)
    assert sender(part).promise() == EVER


def test_records_of_another_topic_wait_for_the_sender_s_announcement() -> None:
    part, prices = new_partition(1), InputPartition("prices", 0, 0, 0)
    task = TaskInput([prices], [part])
    give(prices, 40, 70)
    prices.reach_end(2)
    announce_time(part, 0, A, CAUGHT_UP)
    read(part, 1)
    assert [message.timestamp()[1] for stream in task.ready(9) for message in stream] == [40]
    forward(part, 1, A, 60)
    announce_twice(part, 2, A, TaskTime(60, caught_up=True))
    read(part, 4)
    assert [message.timestamp()[1] for stream in task.ready(9) for message in stream] == [70, 60]


def test_an_announcement_expires_unless_it_is_repeated() -> None:
    part = new_partition(0)
    announce_twice(part, 0, A, CAUGHT_UP)
    read(part, 2)
    sender(part).expire(100.0)
    assert sender(part).has_caught_up
    sender(part).expire(100.1)
    assert not sender(part).has_caught_up
    assert sender(part).promise() == 50


def test_an_announcement_dates_from_the_last_poll_before_the_previous_announcement() -> None:
    part = new_partition(0, at=100.0)
    announce_twice(part, 0, A, CAUGHT_UP)
    read(part, 2)
    part.look(2, 101.0)
    announce_time(part, 2, A, CAUGHT_UP)
    assert sender(part).said_at == 100.0
    announce_time(part, 3, A, CAUGHT_UP)
    assert sender(part).said_at == 101.0
    part.look(9, 900.0)
    announce_twice(part, 4, A, CAUGHT_UP)
    assert sender(part).said_at == 101.0, "they were there when the reader woke up"
    announce_twice(part, 9, A, CAUGHT_UP)
    assert sender(part).said_at == 900.0


def test_an_announcement_that_a_frozen_sender_sends_late_counts_as_old() -> None:
    part = new_partition(0, at=100.0)
    announce_twice(part, 0, A, CAUGHT_UP)
    read(part, 2)
    # The sender determines that it has caught up, freezes for 20 s, and then sends what it has determined.
    part.look(2, 120.0)
    announce_time(part, 2, A, CAUGHT_UP)
    read(part, 3)
    sender(part).expire(115.0)
    assert not have_caught_up(part)
    announce_time(part, 3, A, CAUGHT_UP)
    read(part, 4)
    sender(part).expire(115.0)
    assert have_caught_up(part), "it looked at its input after the commit of the announcement before"


def test_a_task_waits_for_a_sender_of_its_group_up_to_that_sender_s_position() -> None:
    part = new_partition(0)
    stream = sender(part)
    stream.frontier = Frontier()
    announce_twice(part, 0, A, CAUGHT_UP)
    read(part, 2)
    assert stream.promise() == 50
    stream.frontier.time = 80
    assert stream.promise() == 80
    stream.frontier.time = EVER
    assert stream.promise() == EVER


def test_a_sender_that_has_not_caught_up_guarantees_only_its_announced_time() -> None:
    part = new_partition(0)
    stream = sender(part)
    stream.frontier = Frontier()
    stream.frontier.time = 80
    announce_time(part, 0, A, TaskTime(50))
    read(part, 1)
    assert stream.promise() == 50


def test_the_frontier_of_a_task_is_the_timestamp_of_its_next_record() -> None:
    first, second = InputPartition("a", 0, 1, 0), InputPartition("b", 0, 1, 0)
    task = TaskInput([first, second])
    assert task.frontier == -1, "nothing was read yet"
    first.reach_end(0)
    second.reach_end(0)
    assert task.frontier == EVER
    give(first, 30)
    give(second, 20, 40)
    assert task.frontier == 20


@pytest.mark.parametrize("is_before_the_start", [True, False])
def test_the_announcement_that_a_sender_is_done_with_a_lease_does_not_expire(is_before_the_start: bool) -> None:
    part = new_partition(1 if is_before_the_start else 0)
    announce_time(part, 0, A, TaskTime(50, done=LEASE))
    read(part, 1)
    sender(part).expire(1e9)
    assert sender(part).promise() == EVER
    again = new_partition(1, TaskInput([], [part]).senders, at=2e9)
    read(again, 1)
    assert sender(again).promise() == EVER
    assert again.is_done(LEASE)
    again.lease = LEASE + 1
    assert sender(again).promise() == 50


def test_records_of_a_sender_that_the_job_no_longer_has_are_counted_once() -> None:
    part = new_partition(0)
    forward(part, 0, A, 5)
    forward(part, 1, "7-7", 5)
    announce_time(part, 2, "7-7", CAUGHT_UP)
    forward(part, 3, "7-8", 6)
    assert part.dropped == 2
    part.next = 0
    forward(part, 1, "7-7", 5)
    forward(part, 3, "7-8", 6)
    assert part.dropped == 2
    assert sender(part).queue == deque([sender(part).queue[0]])
