"""A task announces its time to the tasks behind a repartition when they can use it, and not more often."""

from __future__ import annotations

import pytest

from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task.announce import Announcer, idle_interval
from tests.runtime.group_bench import GroupBench


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def announcer(clock: Clock) -> Announcer:
    announcer = Announcer(2.0, clock)
    for _ in range(2):
        announcer.note_announcement(TaskTime(10))
    return announcer


def test_a_new_task_announces_any_time_in_its_first_two_commits() -> None:
    announcer = Announcer()
    for _ in range(2):
        assert announcer.is_due(TaskTime())
        announcer.note_announcement(TaskTime())
    assert not announcer.is_due(TaskTime())


def test_a_task_with_two_repartitions_announces_its_time_to_both_in_two_commits() -> None:
    bench = GroupBench(repartitions=("first", "second"))
    assert bench.run() == 2
    for topic in bench.repartitions.values():
        assert len([record for record in bench.broker.partitions[topic, 0].records if record.headers()]) == 2


def test_a_task_that_has_not_caught_up_announces_each_new_time(announcer: Announcer) -> None:
    assert not announcer.is_due(TaskTime(10))
    assert announcer.is_due(TaskTime(11))


def test_a_caught_up_task_repeats_its_announcement_after_an_interval(announcer: Announcer, clock: Clock) -> None:
    assert announcer.is_due(TaskTime(10, caught_up=True))
    announcer.note_announcement(TaskTime(10, caught_up=True))
    assert not announcer.is_due(TaskTime(99, caught_up=True))
    assert announcer.is_due(TaskTime(99))
    clock.now += 2
    assert announcer.is_due(TaskTime(99, caught_up=True)), "a reader that has just started must hear it"


def test_tasks_that_caught_up_at_different_times_repeat_it_together(clock: Clock) -> None:
    announcers = [Announcer(2.0, clock) for _ in range(8)]
    caught_up = TaskTime(10, caught_up=True)
    for announcer in announcers:
        for _ in range(2):
            announcer.note_announcement(caught_up)
        clock.now += 0.2
    commits = 0
    for _ in range(100):
        clock.now += 0.2
        due = [announcer for announcer in announcers if announcer.is_due(caught_up)]
        commits += bool(due)
        for announcer in due:
            announcer.note_announcement(caught_up)
    assert commits == 10, "one commit in each interval of 2 seconds"


def test_an_idle_task_announces_it_repeatedly(announcer: Announcer, clock: Clock) -> None:
    announcer.note_announcement(TaskTime(10, caught_up=True))
    clock.now += 1.9
    assert not announcer.is_due(TaskTime(10, caught_up=True, idle_ms=1_900))
    clock.now += 0.1
    assert announcer.is_due(TaskTime(10, caught_up=True, idle_ms=2_000))
    announcer.note_announcement(TaskTime(10, caught_up=True, idle_ms=2_000))
    clock.now += 1.9
    assert not announcer.is_due(TaskTime(10, caught_up=True, idle_ms=3_900))
    clock.now += 0.2
    assert announcer.is_due(TaskTime(10, caught_up=True, idle_ms=4_100))


def test_the_end_of_idleness_is_announced(announcer: Announcer) -> None:
    announcer.note_announcement(TaskTime(10, caught_up=True, idle_ms=2_000))
    assert announcer.is_due(TaskTime(11, caught_up=True))


def test_the_end_of_a_lease_is_announced(announcer: Announcer) -> None:
    announcer.note_announcement(TaskTime(10, caught_up=True))
    assert announcer.is_due(TaskTime(10, caught_up=True, done=4))


def test_a_task_announces_its_time_again_after_a_restart(announcer: Announcer) -> None:
    announcer.forget()
    assert announcer.is_due(TaskTime(10))
    announcer.note_announcement(TaskTime(10))
    assert announcer.is_due(TaskTime(10)), "a reader relies on an announcement only after the next one"


def test_with_many_senders_and_readers_each_announces_less_often() -> None:
    assert (idle_interval(4), idle_interval(200)) == (1.0, 10.0)
