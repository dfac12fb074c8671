"""Leases end once the topics are no longer as they were planned; the next plan has the new ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaException

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import SENTINEL, LeaseOffset
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spark.topic_watch import TopicWatch
from forebay.runtime.task.clock import now_ms

START = SimpleNamespace(position="earliest", timestamp_ms=None)


@dataclass
class Broker:
    """Topics as a broker has them."""

    partitions: int = 2
    ids: dict[str, str] = field(default_factory=lambda: {"in": "1", "changes": "2"})
    failure: Exception | None = None

    def earliest(self) -> dict[str, tuple[int, ...]]:
        return {"in": (0,) * self.partitions}

    def latest(self) -> dict[str, tuple[int, ...]]:
        return {"in": (9,) * self.partitions}

    def topic_ids(self) -> dict[str, str]:
        if self.failure is not None:
            raise self.failure
        return dict(self.ids)


@dataclass
class Control:
    """The driver's side of the control group; another driver has commanded, whose clock is an hour ahead."""

    commands: list[int]
    last: int = -1

    def last_command(self) -> int:
        return self.last

    def end_planned(self, planned: int) -> int:
        self.commands.append(planned)
        return planned + 3_600_000

    def close(self) -> None:
        """Leave the broker."""


@dataclass
class Bench:
    monkeypatch: pytest.MonkeyPatch
    broker: Broker = field(default_factory=Broker)
    commands: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.planner = LeasePlanner.__new__(LeasePlanner)
        for name, value in {
            "spec": SimpleNamespace(
                application="app",
                tasks=2,
                groups=2,
                start=START,
                restore=False,
                restore_only=False,
                entry=SimpleNamespace(inputs=(SimpleNamespace(name="in"),)),
            ),
            "broker": self.broker,
            "whole": frozenset(),
            "_remembered": {"in", "changes"},
            "_until": None,
            "_is_planned": False,
            "_unreachable_since": None,
            "_lock": threading.Lock(),
            "_latest": None,
            "_ended_at": -1,
            "_control": self.new_control,
            "_clock": now_ms,
        }.items():
            setattr(self.planner, name, value)
        self.control: Callable[[], Any] = lambda: Control(self.commands)
        self.watch = TopicWatch(self.planner, self.planner.end_leases, 30.0)

    def new_control(self) -> Any:
        return self.control()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def add_partitions(broker: Broker) -> None:
    broker.partitions = 4


def recreate(broker: Broker) -> None:
    broker.ids["in"] = "3"


def delete(broker: Broker) -> None:
    del broker.ids["changes"]


def test_nothing_ends_while_the_topics_stay(bench: Bench) -> None:
    bench.watch.look()
    first = bench.planner.plan(dict(SENTINEL))
    bench.watch.look()
    bench.planner.plan(first)
    bench.watch.look()
    assert bench.commands == []


@pytest.mark.parametrize("change", [add_partitions, recreate, delete])
def test_leases_are_ended_until_the_next_plan_if_partitions_come_or_a_topic_is_recreated_or_deleted(
    bench: Bench, change: Callable[[Broker], None]
) -> None:
    planned = bench.planner.plan(dict(SENTINEL))
    change(bench.broker)
    bench.watch.look()
    bench.watch.look()
    assert bench.commands == [planned["planned_at"]] * 2, "another driver may have replaced the first command"


def test_the_next_plan_has_the_new_partitions_and_is_not_ended_by_the_command(bench: Bench) -> None:
    first = bench.planner.plan(dict(SENTINEL))
    add_partitions(bench.broker)
    bench.watch.look()
    second = bench.planner.plan(first)
    assert second["start"] == {"in": [0, 0, 0, 0]}
    assert second["planned_at"] > first["planned_at"] + 3_600_000, "also if the clock was set back"
    bench.watch.look()
    assert len(bench.commands) == 1


def test_a_plan_is_later_than_every_command_and_every_earlier_plan(bench: Bench) -> None:
    command = 10**15
    bench.control = lambda: Control(bench.commands, command)
    first = bench.planner.plan(dict(SENTINEL))
    assert first["planned_at"] == command + 1
    bench.control = lambda: Control(bench.commands)
    assert bench.planner.plan(first)["planned_at"] > first["planned_at"]


def test_a_plan_does_not_wait_for_a_control_group_that_cannot_be_read(bench: Bench) -> None:
    control = Mock(last_command=Mock(side_effect=KafkaException))
    bench.control = lambda: control
    assert bench.planner.plan(dict(SENTINEL))["planned_at"] > 0


def test_leases_that_an_earlier_run_planned_are_watched(bench: Bench) -> None:
    planned = LeaseOffset.from_json(bench.planner.plan(dict(SENTINEL)))
    assert planned is not None
    later = Bench(bench.monkeypatch)
    later.planner.resume(planned)
    add_partitions(later.broker)
    later.watch.look()
    assert later.commands == [planned.planned_at]


def test_leases_of_an_earlier_run_without_ends_are_ended_if_this_run_has_ends(bench: Bench) -> None:
    planned = LeaseOffset.from_json(bench.planner.plan(dict(SENTINEL)))
    assert planned is not None
    later = Bench(bench.monkeypatch)
    later.planner.freeze()
    later.planner.resume(planned)
    later.watch.look()
    assert later.commands == [planned.planned_at]
    later.planner.plan(planned.to_json())
    later.watch.look()
    assert len(later.commands) == 1, "its own leases have ends"


def test_a_broker_that_is_away_ends_nothing(bench: Bench) -> None:
    bench.planner.plan(dict(SENTINEL))
    bench.broker.failure = Unavailable("the broker is away")
    bench.watch.look()
    assert bench.commands == []


def test_a_command_that_failed_is_repeated(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Control:
        raise KafkaException

    bench.planner.plan(dict(SENTINEL))
    add_partitions(bench.broker)
    with monkeypatch.context() as patch:
        patch.setattr(bench, "control", fail)
        bench.watch.look()
    bench.watch.look()
    assert len(bench.commands) == 1


def test_it_compares_again_and_again_until_it_is_closed(bench: Bench) -> None:
    looks = threading.Semaphore(0)

    def look() -> bool:
        looks.release()
        return False

    watch = TopicWatch(SimpleNamespace(is_outdated=look), lambda: None, 0.001)
    watch.start()
    for _ in range(3):
        assert looks.acquire(timeout=20)
    watch.close()


def test_it_compares_again_after_an_error_that_nobody_foresaw(caplog: pytest.LogCaptureFixture) -> None:
    looks = threading.Semaphore(0)

    def look() -> bool:
        looks.release()
        raise ValueError("not foreseen")

    watch = TopicWatch(SimpleNamespace(is_outdated=look), lambda: None, 0.001)
    watch.start()
    for _ in range(3):
        assert looks.acquire(timeout=20)
    watch.close()
    assert "the topics can't be compared with the plan" in caplog.text
