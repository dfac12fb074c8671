"""A task processes the record with the smallest timestamp, and waits for partitions with records not yet received."""

from __future__ import annotations

from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import GLOBAL, InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition
from tests.runtime.records import REPARTITION, announce_time, forward, give

STREAM, TABLE = 1, 0


def partition(topic: str = "t", number: int = 0, rank: int = STREAM, until: int = -1) -> InputPartition:
    return InputPartition(topic, number, rank, 0, until)


def take(task: TaskInput, most: int = 100) -> list[list[int]]:
    """Return the timestamps of up to `most` ready records, by stream."""
    return [[message.timestamp()[1] for message in stream] for stream in task.ready(most)]


def read(*parts: InputPartition) -> None:
    for part in parts:
        part.reach_end(part.next)


def test_records_of_one_partition_are_returned_in_offset_order() -> None:
    part = partition()
    give(part, 5, 3, 9)
    task = TaskInput([part])
    assert take(task, 2) == [[5, 3]]
    assert task.ends == (("t", 0, 2),)
    assert take(task) == [[9]]


def test_a_task_waits_for_the_next_record_of_a_partition() -> None:
    first, second = partition(), partition(number=1)
    task = TaskInput([first, second])
    give(first, 10, 30)
    first.reach_end(2)
    assert take(task) == [[], []]
    give(second, 20)
    assert take(task) == [[10], [20]]
    read(second)
    assert take(task) == [[30], []]


def test_a_task_does_not_wait_for_records_after_the_known_end() -> None:
    first, second = partition(), partition(number=1)
    task = TaskInput([first, second])
    give(first, 10)
    second.end = 0
    assert take(task) == [[10], []]
    second.end = 1
    give(first, 11)
    assert not second.is_read
    assert take(task) == [[], []]


def test_records_beyond_the_commit_limit_stay_in_order_for_the_next_commit() -> None:
    first, second = partition(), partition(number=1)
    task = TaskInput([first, second])
    give(first, 1, 4, 5)
    give(second, 2, 3)
    read(first, second)
    assert take(task, 3) == [[1], [2, 3]]
    assert task.waiting == 2
    assert {(t, p): end for t, p, end in task.ends} == {("t", 0): 1, ("t", 1): 2}
    assert take(task) == [[4, 5], []]


def test_at_equal_timestamps_tables_come_first_then_topic_and_partition() -> None:
    table, late, early = partition("z", rank=TABLE), partition("b", 1), partition("b", 0)
    task = TaskInput([late, early, table])
    for part in (table, late, early):
        give(part, 7)
    read(table, late, early)
    assert [take(task, 1) for _ in range(3)] == [[[7], [], []], [[], [7], []], [[], [], [7]]]


def test_an_out_of_order_record_is_processed_as_soon_as_it_is_the_next_of_its_partition() -> None:
    first, second = partition(), partition(number=1)
    task = TaskInput([first, second])
    give(first, 10, 2, 11)
    give(second, 9, 12)
    read(first, second)
    assert take(task, 2) == [[10], [9]]
    assert take(task) == [[2, 11], [12]]


def test_a_record_with_any_timestamp_is_processed_after_all_partitions_are_read() -> None:
    first, second = partition(), partition(number=1)
    task = TaskInput([first, second])
    give(first, (1 << 63) - 1, 20)
    give(second, 10)
    read(first, second)
    assert take(task) == [[(1 << 63) - 1, 20], [10]]
    assert not task.has_waiting


def test_a_task_waits_for_a_sender_up_to_its_announced_time() -> None:
    part = RepartitionPartition(REPARTITION, 0, ["0-0", "0-1"], (), 0)
    task = TaskInput([], [part])
    forward(part, 0, "0-0", 10)
    forward(part, 1, "0-0", 30)
    part.reach_end(2)
    assert take(task) == [[], []]
    announce_time(part, 2, "0-1", TaskTime(20))
    assert take(task) == [[10], []]
    announce_time(part, 3, "0-1", TaskTime(20, caught_up=True))
    part.reach_end(4)
    assert take(task) == [[30], []]


def caught_up(task: TaskInput) -> bool:
    """Return `is_caught_up`. A function, because mypy would narrow the property after the first assertion."""
    return task.is_caught_up


def test_a_task_has_caught_up_once_all_records_are_used_and_all_senders_have_caught_up() -> None:
    part = RepartitionPartition(REPARTITION, 0, ["0-0", "0-1"], (), 0)
    task = TaskInput([], [part])
    for offset in (0, 1):
        announce_time(part, offset, "0-0", TaskTime(5, caught_up=True, idle_ms=900))
    part.reach_end(2)
    assert not caught_up(task)
    for offset in (2, 3):
        announce_time(part, offset, "0-1", TaskTime(5, caught_up=True, idle_ms=400))
    part.reach_end(4)
    assert caught_up(task)
    assert task.idle_ms == 400
    forward(part, 4, "0-1", 9)
    part.reach_end(5)
    assert not caught_up(task)
    assert task.idle_ms == 0


def test_records_after_a_partition_s_end_offset_are_not_processed() -> None:
    part = partition(until=2)
    task = TaskInput([part])
    give(part, 1, 2)
    part.take(part.queue[0], 2)
    assert take(task) == [[1, 2]]
    assert task.is_done(1)
    assert task.ends == (("t", 0, 2),)


def test_a_record_that_comes_twice_is_queued_once() -> None:
    part = partition()
    give(part, 1)
    part.take(part.queue[0], 0)
    assert len(part.queue) == 1


def test_a_global_table_is_read_first_regardless_of_its_times() -> None:
    stream, towns = partition(), partition("towns", rank=GLOBAL)
    task = TaskInput([stream, towns])
    give(stream, 10)
    assert take(task) == [[], []], "its records are known to be there"
    give(towns, 900, 800)
    read(stream, towns)
    assert take(task) == [[900, 800], [10]]
