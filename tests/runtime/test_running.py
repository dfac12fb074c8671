"""A running job, on any machine, is detected by its commits."""

from __future__ import annotations

from confluent_kafka import IsolationLevel

from forebay.kafka.partition_ends import Place
from forebay.runtime.driver.running import WATCH_SECONDS, sign_of_life

TASK = ("app-0-task", 0)
OTHER = ("app-0-task", 1)


class Topic:
    """The end offsets of the internal changelog. `grows` has those that change during a pause."""

    def __init__(self, ends: dict[Place, int], stable: dict[Place, int] | None = None) -> None:
        self.ends, self.stable = ends, stable or dict(ends)
        self.grows: dict[Place, int] = {}
        self.waited = 0.0

    def look(self, isolation: IsolationLevel) -> dict[Place, int]:
        return dict(self.stable if isolation is IsolationLevel.READ_COMMITTED else self.ends)

    def pause(self, seconds: float) -> None:
        self.waited += seconds
        self.ends.update(self.grows)


def test_a_job_without_commits_is_not_detected_as_running() -> None:
    topic = Topic({TASK: 7, OTHER: 0})
    assert sign_of_life(topic.look, topic.pause) == ""
    assert topic.waited == WATCH_SECONDS


def test_a_job_that_commits_is_detected_as_running() -> None:
    topic = Topic({TASK: 7, OTHER: 0})
    topic.grows = {OTHER: 3}
    assert sign_of_life(topic.look, topic.pause) == "app-0-task-1 grew from 0 to 3 within 3 s"


def test_an_open_transaction_is_reported_without_waiting() -> None:
    topic = Topic({TASK: 9}, {TASK: 7})
    assert sign_of_life(topic.look, topic.pause) == "app-0-task-0 has a transaction open at offset 7"
    assert topic.waited == 0
