"""A rebalance ends the running leases even if a command fails at the broker or does not reach a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.statistics import TaskFigures


class Control:
    """The driver's side of the control group. The broker rejects the first commands."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.commands: list[bool] = []

    def end_leases(self, *, is_followed: bool) -> int:
        if self.refusals:
            self.refusals -= 1
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.commands.append(is_followed)
        return 0


@pytest.fixture
def runner() -> JobRunner:
    return new_runner(Trigger.CONTINUOUS)


def new_runner(trigger: Trigger) -> JobRunner:
    nothing: Any = None
    spec = JobSpec("svc", "svc", 1, 1, nothing, {}, {}, "v1")
    return JobRunner(nothing, spec, Plan("", trigger), lambda *_: None, is_followed=lambda: False)


def batch(*reports: TaskFigures) -> Any:
    result = LeaseResult(1, reports=[report.to_json() for report in reports])
    return SimpleNamespace(collect=lambda: [{"result": result.to_json()}])


def test_a_command_is_repeated_until_the_leases_have_ended(runner: JobRunner) -> None:
    control: Any = Control(refusals=2)
    runner.rebalance()
    for _ in range(4):
        runner._end_leases(control)
    assert runner._rebalancing.is_set()
    assert control.commands == [True, True]
    runner._on_batch(batch(), 1)
    assert not runner._rebalancing.is_set()


@pytest.mark.parametrize("is_followed", [True, False])
def test_workers_learn_whether_other_leases_follow_a_rebalance(runner: JobRunner, *, is_followed: bool) -> None:
    control: Any = Control(refusals=0)
    runner.rebalance(is_followed=is_followed)
    runner._end_leases(control)
    assert control.commands == [is_followed]


def test_no_leases_follow_the_end_of_a_job_without_another_driver(runner: JobRunner) -> None:
    control: Any = Control(refusals=0)
    runner.rebalance()
    runner.stop()
    runner._end_leases(control)
    assert control.commands == [False]


def test_leases_follow_again_once_executors_have_come_back(runner: JobRunner) -> None:
    control: Any = Control(refusals=0)
    runner.rebalance(is_followed=False)
    runner._end_leases(control)
    runner._on_batch(batch(), 1)
    runner._rebalancing.set()
    runner._end_leases(control)
    assert control.commands == [False, True]


def test_leases_with_ends_last_until_their_ends_whatever_executors_come() -> None:
    runner = new_runner(Trigger.AVAILABLE_NOW)
    runner.rebalance()
    assert not runner._rebalancing.is_set(), "a query whose leases end earlier would take everything for read"


def test_leases_that_had_ended_before_they_began_are_no_progress(runner: JobRunner) -> None:
    runner._on_batch(batch(), 1)
    assert not runner._progressed.is_set()
    runner._on_batch(batch(TaskFigures(0, 0)), 2)
    assert runner._progressed.is_set()
