"""A restarted reader skips each sender's processed records, even those after the offset at which it resumes."""

from __future__ import annotations

import pytest

from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task import repartition_queue
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.repartition_queue import RepartitionPartition
from tests.runtime.records import REPARTITION, announce_time, forward

A, B = "0-0", "0-1"


def partition(task: TaskInput | None = None) -> RepartitionPartition:
    """Return a repartition topic's partition that resumes from a task's position, or begins at offset 0."""
    if task is None:
        return RepartitionPartition(REPARTITION, 0, [A, B], (), 0)
    return RepartitionPartition(REPARTITION, 0, [A, B], task.senders, task.ends[0][2])


def offsets(task: TaskInput) -> list[int]:
    return sorted(message.offset() for stream in task.ready(100) for message in stream)


def held_back() -> TaskInput:
    """Return a task that processed B's records up to offset 4, while A's at offset 1 waits for B's next record."""
    part = partition()
    task = TaskInput([], [part])
    forward(part, 0, B, 1)
    forward(part, 1, A, 50)
    for offset in (2, 3, 4):
        forward(part, offset, B, 10 + offset)
    part.reach_end(5)
    assert offsets(task) == [0, 2, 3, 4]
    return task


def test_reading_begins_at_the_first_record_that_is_not_used() -> None:
    task = held_back()
    assert task.ends == ((REPARTITION, 0, 1),)
    assert {s.sender: (s.next_offset, s.stream_time) for s in task.senders} == {A: (-1, 50), B: (5, 14)}


def test_used_records_after_that_are_skipped() -> None:
    part = partition(held_back())
    task = TaskInput([], [part])
    for offset, sender in ((1, A), (2, B), (3, B), (4, B), (5, B)):
        forward(part, offset, sender, 60 if sender == A else 10 + offset)
    announce_time(part, 6, B, TaskTime(99, caught_up=True))
    part.reach_end(7)
    assert offsets(task) == [1, 5]


def test_used_records_are_skipped_after_another_start_before_the_reader_reached_them() -> None:
    part = partition(held_back())
    between = TaskInput([], [part])
    forward(part, 1, A, 50)
    forward(part, 2, B, 12)
    again = partition(between)
    assert {s.sender: s.next_offset for s in between.senders} == {A: -1, B: 5}
    task = TaskInput([], [again])
    for offset, sender in ((1, A), (2, B), (3, B), (4, B)):
        forward(again, offset, sender, 50)
    announce_time(again, 5, B, TaskTime(99, caught_up=True))
    again.reach_end(6)
    assert offsets(task) == [1]


def test_an_older_time_does_not_replace_a_later_one() -> None:
    known = (SenderTime(REPARTITION, A, 8, 100), SenderTime(REPARTITION, B, -1, 70))
    part = RepartitionPartition(REPARTITION, 0, [A, B], known, 3)
    announce_time(part, 3, A, TaskTime(20, caught_up=False))
    announce_time(part, 4, B, TaskTime(90))
    assert [s.time for s in part.senders.values()] == [100, 90]


def test_sender_times_of_another_repartition_are_ignored() -> None:
    part = RepartitionPartition(REPARTITION, 0, [A], (SenderTime("app-other-repartition", A, 8, 100),), 0)
    assert part.senders[A.encode()].time == -1


def test_an_unknown_sender_is_skipped() -> None:
    part = partition()
    forward(part, 0, "7-7", 5)
    assert TaskInput([], [part]).waiting == 0
    assert part.next == 1


def test_records_beyond_the_bound_are_read_again_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repartition_queue, "MOST_QUEUED", 4)
    part = partition()
    task = TaskInput([], [part])
    sent = [(offset, A, 10 + offset) for offset in range(7)]
    for record in sent:
        forward(part, *record)
    part.reach_end(7)
    assert part.senders[A.encode()].cut == 4
    assert not part.is_read
    assert part.rewind() == -1
    announce_time(part, 7, B, TaskTime(99, caught_up=True))
    part.reach_end(8)
    assert offsets(task) == [0, 1, 2, 3]
    assert task.ends == ((REPARTITION, 0, 4),)
    assert part.rewind() == 4
    for record in sent[4:]:
        forward(part, *record)
    announce_time(part, 7, B, TaskTime(1))
    part.reach_end(8)
    assert offsets(task) == [4, 5, 6]
    assert part.senders[B.encode()].time == 99


def test_a_sender_whose_queue_was_cut_guarantees_no_time() -> None:
    part = partition()
    stream = part.senders[A.encode()]
    for offset in (0, 1):
        announce_time(part, offset, A, TaskTime(40, caught_up=True))
    part.reach_end(2)
    assert stream.promise() > 1 << 60
    stream.cut = 2
    assert stream.promise() == -1


def test_a_lease_is_done_once_all_senders_have_announced_its_end() -> None:
    part = partition()
    announce_time(part, 0, A, TaskTime(1, done=3))
    announce_time(part, 1, B, TaskTime(1, done=2))
    assert not part.is_done(3)
    announce_time(part, 2, B, TaskTime(1, done=3))
    assert part.is_done(3)
    forward(part, 3, B, 5)
    assert not part.is_done(3)
