"""A driver waits for the leases that it ends, up to a time limit, because its command may not reach every worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.runtime.driver import query
from forebay.runtime.driver.lease_end import CHANGE_SECONDS, STOP_SECONDS, UNSENT_SECONDS, LeaseEnd
from forebay.runtime.driver.plan import Plan
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.spec import JobSpec


class Clock:
    """Seconds that the test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def end(clock: Clock) -> LeaseEnd:
    return LeaseEnd(clock)


@pytest.mark.parametrize("is_last", [True, False])
def test_leases_that_need_not_end_are_not_waited_for(end: LeaseEnd, clock: Clock, *, is_last: bool) -> None:
    clock.now += 10 * CHANGE_SECONDS
    assert end.hindrance(is_last=is_last) == ""
    end.expect()
    end.over()
    clock.now += 10 * CHANGE_SECONDS
    assert end.hindrance(is_last=is_last) == ""


def test_a_job_that_ends_waits_only_seconds_if_no_command_reaches_the_broker(end: LeaseEnd, clock: Clock) -> None:
    end.expect()
    clock.now += UNSENT_SECONDS - 1
    end.expect()
    assert end.hindrance(is_last=True) == ""
    clock.now += 1
    assert end.hindrance(is_last=True) == "the broker has not taken the command to end the leases for 30 s"
    assert end.hindrance(is_last=False) == ""


def test_with_commands_a_job_that_ends_waits_for_the_last_snapshots(end: LeaseEnd, clock: Clock) -> None:
    end.expect()
    while clock.now < 1_000.0 + STOP_SECONDS - 5:
        clock.now += 5
        end.note_sent()
        assert end.hindrance(is_last=True) == ""
    clock.now += 5
    assert end.hindrance(is_last=True) == "the leases have not ended within 120 s"


def late(end: LeaseEnd, clock: Clock, seconds: float, begun: int = 100) -> str:
    """Observe for some time leases that do not end after a command at 200. Return the reported hindrance."""
    for _ in range(round(seconds)):
        end.observe(command=200, planned=100, begun=begun)
        clock.now += 1
    end.observe(command=200, planned=100, begun=begun)
    return end.hindrance(is_last=False)


def test_a_worker_without_a_broker_does_not_hold_up_the_others_for_ever(end: LeaseEnd, clock: Clock) -> None:
    assert late(end, clock, CHANGE_SECONDS - 1) == ""
    assert late(end, clock, 1) == "the leases have not ended within 300 s"


def test_time_in_which_the_driver_has_no_broker_either_does_not_count(end: LeaseEnd, clock: Clock) -> None:
    assert late(end, clock, CHANGE_SECONDS - 10) == ""
    for _ in range(20):
        clock.now += 1
        end.note_silence()
    assert late(end, clock, 9) == ""
    assert late(end, clock, 1)


@pytest.mark.parametrize(("command", "planned", "begun"), [(200, 201, 201), (-1, 100, 100), (200, -1, -1)])
def test_a_command_that_ends_other_leases_is_nothing_to_wait_for(
    end: LeaseEnd, clock: Clock, command: int, planned: int, begun: int
) -> None:
    for _ in range(round(2 * CHANGE_SECONDS)):
        end.observe(command, planned, begun)
        clock.now += 1
    assert end.hindrance(is_last=False) == ""


@pytest.mark.parametrize("begun", [-1, 50])
@pytest.mark.parametrize("is_asked", [True, False])
def test_leases_that_have_not_all_begun_may_load_their_tables(
    end: LeaseEnd, clock: Clock, begun: int, *, is_asked: bool
) -> None:
    if is_asked:
        end.expect()
    assert late(end, clock, 10 * CHANGE_SECONDS, begun) == ""
    assert end.hindrance(is_last=True) != "" or not is_asked, "a stop does not wait for that"


@pytest.mark.parametrize("is_known_late", [True, False])
def test_leases_that_end_at_once_are_not_waited_for_afterwards(
    end: LeaseEnd, clock: Clock, *, is_known_late: bool
) -> None:
    end.observe(command=50, planned=100, begun=100)
    if not is_known_late:
        end.observe(command=200, planned=100, begun=100)
    end.over()
    assert late(end, clock, 10 * CHANGE_SECONDS) == "", "the next ones load their tables and have reported nothing"
    end.observe(command=200, planned=250, begun=250)
    assert not end.is_expected


def test_leases_that_have_begun_since_are_not_blamed_for_a_driver_that_expects_an_end(
    end: LeaseEnd, clock: Clock
) -> None:
    end.expect()
    for _ in range(round(2 * CHANGE_SECONDS)):
        clock.now += 1
        end.observe(command=200, planned=250, begun=250)
    assert end.hindrance(is_last=False) == ""


class Query:
    """A streaming query whose leases never end."""

    def __init__(self, clock: Clock) -> None:
        self.isActive = True
        self.status = {"isTriggerActive": True, "isDataAvailable": True}
        self.clock = clock
        self.stops = 0

    def awaitTermination(self, seconds: float) -> bool:
        self.clock.now += seconds
        return False

    def stop(self) -> None:
        self.stops += 1
        self.isActive = False


class Control:
    """The driver's side of the control group. If the broker is away, every call fails."""

    def __init__(self, *, is_away: bool) -> None:
        self.planned = self.begun = -1
        self.topics = ""
        self.is_away = is_away
        self.commands = 0
        self.command = self.sent = -1

    def end_leases(self, *, is_followed: bool) -> None:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.commands += 1
        self.command = 50 + 100 * (self.commands > 1)

    def figures(self) -> tuple[list[Any], str]:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.planned = self.begun = 100
        return [], ""

    def close(self) -> None:
        """Close nothing."""


class Frame:
    """A fake Spark session whose `writeStream...start()` returns a query."""

    def __init__(self, started: Query) -> None:
        self.started = started

    def __getattr__(self, name: str) -> Any:
        return self if name in ("readStream", "writeStream") else lambda *_args, **_kwargs: self

    def start(self) -> Query:
        return self.started


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[[Control, Callable[[JobRunner], None]], Query]:
    def run(control: Control, ask: Callable[[JobRunner], None]) -> Query:
        monkeypatch.setattr(query, "DriverControl", lambda _spec: control)
        started = Query(clock)
        session: Any = Frame(started)
        kafka: Any = None
        spec = JobSpec("svc", "svc", 1, 1, kafka, {}, {}, "v1")
        runner = JobRunner(session, spec, Plan("/checkpoint"), lambda *_: None, monotonic=clock)
        await_termination = started.awaitTermination

        def step(seconds: float) -> bool:
            if clock.now > 1_010 and not runner._ending and not runner._rebalancing.is_set():
                ask(runner)
            assert clock.now < 10_000, "the driver waits for ever"
            return await_termination(seconds)

        monkeypatch.setattr(started, "awaitTermination", step, raising=False)
        runner._run_query()
        return started

    return run


@pytest.mark.parametrize(("is_away", "seconds"), [(True, UNSENT_SECONDS), (False, STOP_SECONDS)])
def test_a_job_that_is_asked_to_stop_ends_although_its_leases_do_not(
    run: Callable[..., Query], clock: Clock, caplog: pytest.LogCaptureFixture, *, is_away: bool, seconds: float
) -> None:
    started = run(Control(is_away=is_away), JobRunner.stop)
    assert started.stops == 1
    assert seconds <= clock.now - 1_010 < seconds + 10
    assert "Spark stops their tasks; nothing is lost" in caplog.text


def test_the_query_starts_again_if_a_worker_does_not_obey_a_rebalance(run: Callable[..., Query], clock: Clock) -> None:
    control = Control(is_away=False)
    started = run(control, JobRunner.rebalance)
    assert started.stops == 1
    assert control.commands > 10, "repeated, since another command may have replaced it"
    assert CHANGE_SECONDS <= clock.now - 1_010 < CHANGE_SECONDS + 10


def test_the_command_of_another_driver_is_repeated_too(
    run: Callable[..., Query], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control(is_away=False)
    repeated: list[bool] = []

    def end_reported(*, is_followed: bool) -> None:
        repeated.append(is_followed)

    monkeypatch.setattr(control, "end_reported", end_reported, raising=False)

    def observe(runner: JobRunner) -> None:
        control.command, control.planned = 200, 100

    run(control, observe)
    assert len(repeated) > 10
    assert set(repeated) == {True}
    assert control.commands == 1, "at the start: a lease that is planned later must not end"


def test_a_stop_is_commanded_at_once_after_a_rebalance(run: Callable[..., Query], clock: Clock) -> None:
    control = Control(is_away=False)
    said: list[tuple[float, bool]] = []

    def end_leases(*, is_followed: bool) -> None:
        said.append((clock.now, is_followed))
        if len(said) == 2:
            runners[0].stop()

    control.end_leases = end_leases  # type: ignore[method-assign]
    runners: list[JobRunner] = []

    def rebalance(runner: JobRunner) -> None:
        runners.append(runner)
        runner.rebalance()

    run(control, rebalance)
    _, (first, is_followed), (second, is_followed_then) = said[:3]
    assert (is_followed, is_followed_then) == (True, False)
    assert second - first < 1, "leases that end meanwhile would wait for others"
