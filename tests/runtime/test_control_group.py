"""Workers report to the driver, and drivers command workers, in the offsets of the control group."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from forebay.kafka.settings import KafkaSettings
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark import control
from forebay.runtime.spark.control import DriverControl, WorkerControl
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.statistics import TaskFigures

KAFKA = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere")
LEASE = Lease("checkpoint", number=1, group=0, groups=1, tasks=2, planned_at=5, start={"user_activity": (0, 0)})


class ControlGroup:
    """A consumer of a group whose offsets are in memory."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, int], Any] = {}
        self.deleted: set[str] = set()
        self.refused: set[str] = set()
        """Topics that the job may not read."""

    def commit(self, *, offsets: list[Any], asynchronous: bool) -> None:
        if any(place.topic in self.deleted for place in offsets):
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if any(place.topic in self.refused for place in offsets):
            raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        self.offsets |= {(place.topic, place.partition): place for place in offsets}

    def committed(self, places: list[Any], _seconds: float) -> list[Any]:
        nothing = SimpleNamespace(error=None, offset=-1001, metadata=None)
        return [self.offsets.get((place.topic, place.partition), nothing) for place in places]

    def poll(self, _seconds: float) -> None:
        return


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> ControlGroup:
    group = ControlGroup()
    monkeypatch.setattr(control, "connection", lambda _spec: group)
    return group


def spec(run: str) -> JobSpec:
    return JobSpec("user-sessions", "app", 2, 1, KAFKA, {}, {}, "1", run=run)


def report(group: Any, run: str, task: int, trouble: str = "") -> None:
    WorkerControl(spec(run), LEASE, group).report([TaskFigures(0, task, restored_rows=9)], 1, trouble)


def test_a_driver_gets_its_tasks_reports_and_what_they_wait_for(group: ControlGroup) -> None:
    report(group, "this", 0)
    report(group, "this", 1, "the broker is away")
    figures, trouble = DriverControl(spec("this")).figures()
    assert [(item.task, item.restored_rows) for item in figures] == [(0, 9), (1, 9)]
    assert trouble == "the broker is away"


def test_a_recent_report_of_an_earlier_run_is_ignored(group: ControlGroup) -> None:
    report(group, "before", 0, "the broker is away")
    report(group, "this", 1)
    figures, trouble = DriverControl(spec("this")).figures()
    assert [item.task for item in figures] == [1]
    assert trouble == ""


def test_a_worker_of_the_previous_release_is_skipped(group: ControlGroup) -> None:
    report(group, "", 0)
    ((place, result),) = group.offsets.items()
    without = result.metadata.replace('"run": "", ', "")
    assert without != result.metadata
    group.offsets[place] = TopicPartition(*place, 0, without)
    assert DriverControl(spec("this")).figures() == ([], "")


class Clock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(control, "now_ms", lambda: clock.ms)
    return clock


def is_ended(group: Any, planned_at: int) -> bool:
    return WorkerControl(spec("this"), replace(LEASE, planned_at=planned_at), group).must_end


def test_a_start_ends_what_was_planned_before_it_and_nothing_after(group: ControlGroup, clock: Clock) -> None:
    DriverControl(spec("this")).end_leases()
    assert is_ended(group, clock.ms - 1)
    assert not is_ended(group, clock.ms + 1)


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_worker_learns_whether_other_leases_follow(group: ControlGroup, clock: Clock, *, is_followed: bool) -> None:
    DriverControl(spec("this")).end_leases(is_followed=is_followed)
    worker = WorkerControl(spec("this"), replace(LEASE, planned_at=clock.ms), group)  # type: ignore[arg-type]
    assert worker.must_end
    assert worker.is_followed is is_followed


def test_a_worker_without_a_lease_ends_once_no_driver_follows(
    group: ControlGroup, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_LOOK_SECONDS", 0)
    worker = WorkerControl(spec("this"), replace(LEASE, planned_at=clock.ms), group)  # type: ignore[arg-type]
    assert not worker.must_leave
    DriverControl(spec("this")).end_leases(is_followed=True)
    assert worker.must_end
    assert not worker.must_leave
    DriverControl(spec("next")).end_leases(is_followed=True)
    assert not worker.must_leave
    DriverControl(spec("next")).end_leases()
    assert worker.must_leave


def test_leases_planned_before_the_clock_was_set_back_are_ended_all_the_same(group: ControlGroup, clock: Clock) -> None:
    driver = DriverControl(spec("this"))
    lease = replace(LEASE, planned_at=clock.ms)
    WorkerControl(spec("this"), lease, group).report([TaskFigures(0, 0)], 1)  # type: ignore[arg-type]
    driver.figures()
    clock.ms -= 3_600
    driver.end_leases()
    assert is_ended(group, lease.planned_at)


def test_a_command_is_never_earlier_than_those_that_the_driver_has_read(group: ControlGroup, clock: Clock) -> None:
    ahead = clock.ms
    DriverControl(spec("before")).end_leases()
    clock.ms -= 3_600
    driver = DriverControl(spec("this"))
    driver.figures()
    assert driver.end_leases() == driver.last_command() == ahead
    clock.ms -= 3_600
    assert driver.end_leases() == ahead


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_driver_ends_the_leases_that_tasks_have_reported_and_no_later_one(
    group: Any, clock: Clock, *, is_followed: bool
) -> None:
    lease = replace(LEASE, planned_at=clock.ms - 5)
    worker = WorkerControl(spec("this"), lease, group)
    worker.report([TaskFigures(0, 0)], 1)
    driver = DriverControl(spec("this"))
    driver.figures()
    assert driver.end_reported(is_followed=is_followed) == lease.planned_at, "not the clock: no lease is later"
    assert worker.must_end
    assert worker.is_followed is is_followed
    assert not is_ended(group, lease.planned_at + 1)


def test_a_command_for_reported_leases_does_not_replace_a_later_one(group: Any, clock: Clock) -> None:
    command = DriverControl(spec("before")).end_leases()
    WorkerControl(spec("this"), replace(LEASE, planned_at=command - 5), group).report([TaskFigures(0, 0)], 1)
    driver = DriverControl(spec("this"))
    driver.figures()
    assert driver.end_reported(is_followed=True) == command


def test_the_last_command_has_no_time_if_there_was_none(group: ControlGroup) -> None:
    assert DriverControl(spec("this")).last_command() < 0


def test_a_driver_knows_the_name_of_another_one_that_ends_leases(group: ControlGroup, clock: Clock) -> None:
    first, second = DriverControl(spec("first")), DriverControl(spec("second"))
    first.end_leases()
    first.last_command()
    assert first.other == "", "it is its own"
    second.end_leases(is_followed=True)
    assert first.last_command() == second.sent
    assert first.other.startswith("the driver on ")
    assert first.other.endswith(", run second)")
    first.end_reported(is_followed=True)
    first.figures()
    assert first.other.endswith(", run second)"), "its own command does not hide the other driver"


@pytest.mark.parametrize("is_followed", [True, False])
def test_workers_of_release_0_2_read_the_command_at_the_first_input(
    group: ControlGroup, clock: Clock, *, is_followed: bool
) -> None:
    DriverControl(spec("this")).end_leases(is_followed=is_followed)
    assert group.offsets["user_activity", 0].metadata == ("followed" if is_followed else "")


def test_a_job_needs_no_right_to_read_its_failed_records(group: ControlGroup, clock: Clock) -> None:
    group.refused.add("app.errors")
    driver = DriverControl(spec("this"))
    assert driver.end_leases() == driver.command == clock.ms
    assert is_ended(group, clock.ms)
    group.refused.add("user_activity")
    with pytest.raises(KafkaException):
        driver.end_leases()


@pytest.mark.parametrize("deleted", ["user_activity", "app.errors"])
def test_leases_end_even_if_a_topic_that_holds_the_command_is_deleted(group: ControlGroup, deleted: str) -> None:
    group.deleted.add(deleted)
    DriverControl(spec("this")).end_leases()
    assert WorkerControl(spec("this"), LEASE, cast("Any", group)).must_end


def test_a_command_that_no_topic_holds_fails(group: ControlGroup) -> None:
    group.deleted |= {"user_activity", "app.errors"}
    with pytest.raises(KafkaException):
        DriverControl(spec("this")).end_leases()


def test_a_worker_knows_for_how_long_the_broker_has_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    group: Any = ControlGroup()
    now = [100.0]
    worker = WorkerControl(spec("this"), LEASE, group, lambda: now[0])
    now[0] += 70
    assert worker.silent_seconds == 0, "it asks before it answers"

    def fail(places: list[Any], seconds: float) -> list[Any]:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(group, "committed", fail)
    now[0] += 70
    assert worker.silent_seconds == 70


def test_a_worker_knows_whether_the_broker_has_a_report_of_its_lease(
    group: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_LOOK_SECONDS", 0)
    report(group, "this", 0)
    report(group, "this", 1)
    worker = WorkerControl(spec("this"), replace(LEASE, planned_at=6), group)
    refuse = group.commit
    monkeypatch.setattr(group, "commit", lambda **_: None)
    worker.report([TaskFigures(0, 0), TaskFigures(0, 1)], 1)
    assert not worker.must_end
    assert not worker.is_reported, "the broker has reports of an earlier lease"
    monkeypatch.setattr(group, "commit", refuse)
    monkeypatch.setattr(control, "_REPORT_SECONDS", 0)
    worker.report([TaskFigures(0, 0), TaskFigures(0, 1)], 1)
    assert not worker.is_reported, "the answer shows it, not the request"
    assert not worker.must_end
    assert worker.is_reported


def test_a_report_of_another_run_does_not_count_for_this_lease(group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_LOOK_SECONDS", 0)
    report(group, "before", 0)
    worker = WorkerControl(spec("this"), LEASE, group)
    monkeypatch.setattr(group, "commit", lambda **_: None)
    worker.report([TaskFigures(0, 0)], 1)
    assert not worker.must_end
    assert not worker.is_reported


def test_a_driver_knows_the_topics_of_the_latest_lease(group: Any) -> None:
    grown = replace(LEASE, planned_at=9, start={"user_activity": (0, 0, 0, 0)})
    assert grown.topics != LEASE.topics
    driver = DriverControl(spec("this"))
    for task, lease in enumerate((grown, LEASE)):
        WorkerControl(spec("this"), lease, group).report([TaskFigures(0, task)], 1)
        driver.figures()
        assert driver.topics == grown.topics


def test_a_worker_of_the_previous_release_reports_no_topics(group: ControlGroup) -> None:
    report(group, "this", 0)
    ((place, result),) = group.offsets.items()
    group.offsets[place] = TopicPartition(*place, 0, result.metadata.replace(f', "topics": "{LEASE.topics}"', ""))
    driver = DriverControl(spec("this"))
    driver.figures()
    assert (driver.planned, driver.topics) == (LEASE.planned_at, "")


@pytest.mark.parametrize(("planned", "begun"), [((5,), -1), ((5, 9), 5), ((9, 9), 9)])
def test_a_driver_knows_which_leases_all_tasks_have_begun(group: Any, planned: tuple[int, ...], begun: int) -> None:
    for task, time_ms in enumerate(planned):
        lease = replace(LEASE, planned_at=time_ms)
        WorkerControl(spec("this"), lease, group).report([TaskFigures(0, task)], 1)
    driver = DriverControl(spec("this"))
    driver.figures()
    assert (driver.planned, driver.begun) == (max(planned), begun)
