"""If topics have changed since the leases were planned, the driver ends the leases and plans new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaException

from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.errors import TopicChanged, Unavailable
from forebay.runtime.protocol.lease import SENTINEL, Lease, LeaseOffset
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.clock import now_ms

START = SimpleNamespace(position="earliest", timestamp_ms=None)


@dataclass
class Broker:
    """A broker with partition counts and topic ids."""

    partitions: dict[str, int] = field(default_factory=lambda: {"in": 4, "table": 3})
    ids: dict[str, str] = field(default_factory=lambda: {"in": "1", "table": "2", "changes": "3", "out": "4"})
    failure: Exception | None = None

    def earliest(self) -> dict[str, tuple[int, ...]]:
        return {topic: (0,) * count for topic, count in self.partitions.items()}

    def latest(self) -> dict[str, tuple[int, ...]]:
        return {topic: (9,) * count for topic, count in self.partitions.items()}

    def topic_ids(self) -> dict[str, str]:
        if self.failure is not None:
            raise self.failure
        return dict(self.ids)


def planner_of(broker: Broker, command: int = -1) -> LeasePlanner:
    """Return a planner of two groups for four tasks; `command`: time (ms) of the last command that ends leases."""
    planner = LeasePlanner.__new__(LeasePlanner)
    for name, value in {
        "spec": SimpleNamespace(
            application="app",
            tasks=4,
            groups=2,
            start=START,
            restore=False,
            restore_only=False,
            align=False,
            entry=SimpleNamespace(inputs=(SimpleNamespace(name="in"), SimpleNamespace(name="table"))),
        ),
        "broker": broker,
        "whole": frozenset({"table"}),
        "_remembered": {"in", "table", "changes"},
        "_until": None,
        "_is_planned": False,
        "_unreachable_since": None,
        "_ended_at": -1,
        "_control": lambda: Mock(last_command=lambda: command),
        "_clock": now_ms,
    }.items():
        setattr(planner, name, value)
    return planner


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def planner(broker: Broker) -> LeasePlanner:
    return planner_of(broker)


def leases(planner: LeasePlanner, planned: dict[str, Any]) -> list[Lease]:
    """Return the leases of a plan, encoded and decoded as on their way to workers."""
    offset = LeaseOffset.from_json(planned)
    assert offset is not None
    return [Lease.from_json(lease.to_json()) for lease in offset.leases(planner.whole)]


def add_partitions(broker: Broker) -> None:
    broker.partitions["in"] = 8


def add_partitions_of_global_table(broker: Broker) -> None:
    broker.partitions["table"] = 4


def recreate(broker: Broker) -> None:
    broker.ids["in"] = "5"


def recreate_changelog(broker: Broker) -> None:
    broker.ids["changes"] = "5"


def delete(broker: Broker) -> None:
    broker.failure = TopicChanged("a topic is gone")


CHANGES = [add_partitions, add_partitions_of_global_table, recreate, recreate_changelog, delete]


def test_the_leases_of_all_groups_have_the_topics_of_their_plan(planner: LeasePlanner) -> None:
    first = planner.plan(dict(SENTINEL))
    for planned in (first, planner.plan(first)):
        assert {lease.topics for lease in leases(planner, planned)} == {planner.topics()}


@pytest.mark.parametrize("change", CHANGES)
def test_topics_that_change_are_not_those_of_the_leases(
    planner: LeasePlanner, broker: Broker, change: Callable[[Broker], None]
) -> None:
    lease, *_ = leases(planner, planner.plan(dict(SENTINEL)))
    change(broker)
    assert planner.topics() not in (None, lease.topics)


def test_a_recreated_output_changes_no_lease(planner: LeasePlanner, broker: Broker) -> None:
    before = planner.topics()
    broker.ids["out"] = "5"
    assert planner.topics() == before


def test_the_topics_are_unknown_while_the_broker_is_unavailable(planner: LeasePlanner, broker: Broker) -> None:
    broker.failure = Unavailable("the broker is away")
    assert planner.topics() is None


def test_the_next_plan_has_the_new_partitions(planner: LeasePlanner, broker: Broker) -> None:
    first = planner.plan(dict(SENTINEL))
    add_partitions(broker)
    second = planner.plan(first)
    assert second["start"]["in"] == [0] * 8
    assert {lease.topics for lease in leases(planner, second)} == {planner.topics()}


def test_leases_with_ends_do_not_depend_on_the_topics(planner: LeasePlanner) -> None:
    planner.freeze()
    assert {lease.topics for lease in leases(planner, planner.plan(dict(SENTINEL)))} == {""}


def test_a_plan_is_later_than_every_command_and_every_earlier_plan(broker: Broker) -> None:
    command = 10**15
    first = planner_of(broker, command).plan(dict(SENTINEL))
    assert first["planned_at"] == command + 1
    assert planner_of(broker).plan(first)["planned_at"] > first["planned_at"]


def test_a_plan_does_not_wait_for_a_control_group_that_cannot_be_read(planner: LeasePlanner) -> None:
    planner._control = lambda: Mock(last_command=Mock(side_effect=KafkaException))
    assert planner.plan(dict(SENTINEL))["planned_at"] > 0


class Control:
    """The driver's side of the control group; the test sets the lease that tasks report."""

    def __init__(self, planned: int, topics: str) -> None:
        self.planned = self.begun = planned
        self.topics = topics
        self.command = -1
        self.ended: list[tuple[int, bool]] = []

    def figures(self) -> tuple[list[Any], str]:
        return [], ""

    def end_reported(self, *, is_followed: bool) -> None:
        self.ended.append((self.planned, is_followed))


class Drive:
    """A driver's loop for a job whose tasks report a lease."""

    def __init__(self, topics: str, trigger: Trigger = Trigger.CONTINUOUS) -> None:
        nothing: Any = None
        spec = JobSpec("svc", "svc", 1, 1, nothing, {}, {}, "v1")
        self.runner = JobRunner(nothing, spec, Plan("", trigger), lambda *_: None)
        self.control: Any = Control(100, topics)

    def step(self) -> list[tuple[int, bool]]:
        """Run one round of the loop. Return each ended lease's planning time, and whether another lease follows."""
        self.runner._observe_tasks(self.control)
        self.control.ended.clear()
        if self.runner._must_end(self.control):
            self.runner._end_leases(self.control)
        return list(self.control.ended)


def test_leases_whose_topics_have_changed_end_and_new_leases_follow() -> None:
    drive = Drive("before")
    drive.step()
    drive.runner.compare_topics("now")
    assert drive.step() == [(100, True)]
    assert drive.step() == [(100, True)], "repeated: another driver may have replaced the first command"
    drive.control.planned = drive.control.begun = 200
    assert drive.step() == [], "the next leases have other topics"


def test_new_leases_follow_changed_topics_even_after_executors_were_lost() -> None:
    drive = Drive("before")
    drive.runner.rebalance(is_followed=False)
    drive.runner._on_batch(SimpleNamespace(collect=list), 1)  # type: ignore[arg-type]
    drive.step()
    drive.runner.compare_topics("now")
    assert drive.step() == [(100, True)]


@pytest.mark.parametrize("reported", ["now", ""])
def test_leases_with_the_same_topics_or_of_a_worker_that_does_not_report_them_last(reported: str) -> None:
    drive = Drive(reported)
    drive.step()
    drive.runner.compare_topics("now")
    assert drive.step() == []


@pytest.mark.parametrize(("topics", "ended"), [("now", [(100, True)]), ("", [])])
def test_a_job_with_end_offsets_ends_leases_that_were_planned_without_them(
    topics: str, ended: list[tuple[int, bool]]
) -> None:
    drive = Drive(topics, Trigger.AVAILABLE_NOW)
    drive.step()
    drive.runner.compare_topics("now")
    assert drive.step() == ended


def test_before_any_lease_is_reported_nothing_ends() -> None:
    drive = Drive("before")
    drive.runner.compare_topics("now")
    assert drive.step() == []
