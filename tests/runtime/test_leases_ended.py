"""A run with end offsets fails if another driver ends its leases before all input is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.runtime.driver.causes import stop_message
from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.errors import LeasesEnded
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spec import JobSpec

STARTED_AT = 100
OTHER = "the driver on host-b (process 7, run 12ab)"


class Control:
    """The driver's side of the control group, in which another driver has ended the leases."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away
        self.other = OTHER if is_away else ""
        self.topics, self.planned = "", 150

    def last_command(self) -> int:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.other = OTHER
        return 200


def runner_of(trigger: Trigger, control: Any) -> JobRunner:
    nothing: Any = None
    spec = JobSpec("svc", "app", 1, 1, nothing, {}, {}, "v1")
    runner = JobRunner(nothing, spec, Plan("", trigger), lambda *_: None)
    runner._control, runner._started_at = control, STARTED_AT
    return runner


def batch(*results: LeaseResult) -> Any:
    return SimpleNamespace(collect=lambda: [{"result": result.to_json()} for result in results])


@pytest.mark.parametrize("is_away", [True, False])
def test_the_error_names_the_other_driver_and_the_remedy(*, is_away: bool) -> None:
    runner = runner_of(Trigger.AVAILABLE_NOW, Control(is_away=is_away))
    with pytest.raises(LeasesEnded) as raised:
        runner._on_batch(batch(LeaseResult(150), LeaseResult(150, is_cut_short=True)), 1)
    message = stop_message(f"py4j: {raised.value}\n more")
    assert message is not None
    assert message.startswith(f"{OTHER} has ended the leases of app before this run had read everything")
    assert "Stop the other driver and start this job again" in message


def test_leases_that_have_reached_their_end_offsets_end_the_run() -> None:
    runner = runner_of(Trigger.AVAILABLE_NOW, Control())
    runner._on_batch(batch(LeaseResult(150), LeaseResult(150)), 1)
    assert runner._has_finished


def test_a_run_continues_after_leases_that_its_own_command_has_ended() -> None:
    runner = runner_of(Trigger.AVAILABLE_NOW, Control())
    runner._on_batch(batch(LeaseResult(STARTED_AT, is_cut_short=True)), 1)
    assert not runner._has_finished
    runner._on_batch(batch(LeaseResult(150)), 2)
    assert runner._has_finished


def test_a_run_that_stops_anyway_does_not_complain() -> None:
    runner = runner_of(Trigger.AVAILABLE_NOW, Control())
    runner.stop()
    with pytest.raises(InterruptedError):
        runner._on_batch(batch(LeaseResult(150, is_cut_short=True)), 1)


@pytest.mark.parametrize(
    ("trigger", "topics", "planned", "fails"),
    [
        (Trigger.AVAILABLE_NOW, "", 150, True),
        (Trigger.AVAILABLE_NOW, "", STARTED_AT, False),
        (Trigger.AVAILABLE_NOW, "digest", 150, False),
        (Trigger.CONTINUOUS, "digest", 150, False),
    ],
)
def test_it_fails_too_if_its_leases_do_not_obey_the_other_driver(
    monkeypatch: pytest.MonkeyPatch, trigger: Trigger, topics: str, planned: int, *, fails: bool
) -> None:
    control: Any = Control()
    control.topics, control.planned = topics, planned
    runner = runner_of(trigger, control)
    monkeypatch.setattr(runner._lease_end, "hindrance", lambda is_last: "the leases have not ended within 300 s")
    if fails:
        with pytest.raises(LeasesEnded, match="host-b"):
            runner._is_hindered(control)
    else:
        assert runner._is_hindered(control)
