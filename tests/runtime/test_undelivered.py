"""Records that an older release repartitioned through Spark, and that are in no topic, are detected."""

from __future__ import annotations

from forebay.runtime.positions import Task, closing_times, undelivered_tasks
from forebay.runtime.protocol.position import TaskPosition


def at(n: int, handed_to: int = 0) -> TaskPosition:
    return TaskPosition("c", n, handed_to=handed_to)


def test_no_records_are_undelivered_if_all_sub_topologies_committed_the_batch() -> None:
    assert undelivered_tasks({(0, 0): at(7, 0b11), (0, 1): at(7, 0b10), (1, 0): at(7), (1, 1): at(7)}) == ()


def test_a_task_that_did_not_commit_the_last_batch_has_undelivered_records() -> None:
    positions: dict[Task, TaskPosition] = {(0, 0): at(7, 0b11), (1, 0): at(7), (1, 1): at(6)}
    assert undelivered_tasks(positions) == ((1, 1),)


def test_a_task_that_never_committed_has_undelivered_records() -> None:
    assert undelivered_tasks({(0, 0): at(7, 0b100)}) == ((1, 2),)


def test_a_task_without_repartitioned_records_has_no_undelivered_records() -> None:
    assert undelivered_tasks({(0, 0): at(7, 0b01), (1, 0): at(7), (1, 1): at(5)}) == ()


def test_records_of_an_earlier_batch_count_as_delivered() -> None:
    assert undelivered_tasks({(0, 0): at(6, 0b1), (0, 1): at(7), (1, 0): at(5)}) == ()


def test_positions_of_this_release_have_no_undelivered_records() -> None:
    assert undelivered_tasks({(0, 0): at(9), (1, 0): at(3)}) == ()
    assert undelivered_tasks({}) == ()


def test_results_are_final_up_to_the_later_of_stream_and_closing_time() -> None:
    positions: dict[Task, TaskPosition] = {
        (0, 0): TaskPosition("c", 1, 100, 300),
        (0, 1): TaskPosition("c", 1, 200),
        (0, 2): TaskPosition("c", 1),
    }
    assert closing_times(positions) == {(0, 0): 300, (0, 1): 200}
