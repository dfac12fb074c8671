"""A driver runs its job only while it holds the Kubernetes Lease, or if Leases can't be used."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from forebay.http.health import Health
from forebay.runtime.kubernetes import driver_lease
from forebay.runtime.kubernetes.api import ApiConflict, ApiRefused, ApiUnavailable
from forebay.runtime.kubernetes.driver_lease import LEASE_SECONDS, DriverLease
from forebay.runtime.kubernetes.executors import ExecutorPods


@dataclass
class MemoryLease:
    """A Lease in memory; `failure` is raised by each call."""

    holder: str = ""
    renewals: int = 0
    failure: Exception | None = None
    lost: list[str] = field(default_factory=list)

    def read(self) -> tuple[str, str]:
        if self.failure is not None:
            raise self.failure
        return self.holder, str(self.renewals)

    def write(self, holder: str, seconds: float) -> None:
        assert seconds == LEASE_SECONDS
        self.holder, self.renewals = holder, self.renewals + 1


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def driver(lease: MemoryLease, name: str, clock: Clock) -> DriverLease:
    return DriverLease(lease, name, lease.lost.append, clock)


def test_a_free_lease_is_taken_at_once(clock: Clock) -> None:
    lease = MemoryLease()
    assert driver(lease, "one", clock).try_acquire() == ""
    assert lease.holder == "one"


def test_the_next_container_of_a_pod_takes_its_lease_at_once(clock: Clock) -> None:
    lease = MemoryLease("one")
    assert driver(lease, "one", clock).try_acquire() == ""


def test_a_lease_that_is_renewed_is_never_taken(clock: Clock) -> None:
    lease = MemoryLease("one")
    first, second = driver(lease, "one", clock), driver(lease, "two", clock)
    for _ in range(20):
        clock.now += 5.0
        assert first.renew_once()
        assert second.try_acquire() == "one"
    assert lease.holder == "one"


def test_the_lease_of_a_lost_node_is_taken_once_it_was_not_renewed_for_its_time(clock: Clock) -> None:
    lease = MemoryLease("one")
    second = driver(lease, "two", clock)
    assert second.try_acquire() == "one"
    clock.now = LEASE_SECONDS - 0.1
    assert second.try_acquire() == "one"
    clock.now = LEASE_SECONDS
    assert second.try_acquire() == ""
    assert lease.holder == "two"


def test_a_released_lease_is_taken_at_once(clock: Clock) -> None:
    lease = MemoryLease()
    first, second = driver(lease, "one", clock), driver(lease, "two", clock)
    assert first.try_acquire() == ""
    first.start()
    assert second.try_acquire() == "one"
    first.release()
    assert second.try_acquire() == ""


def test_a_driver_that_finds_its_lease_taken_over_stops(clock: Clock) -> None:
    lease = MemoryLease()
    first = driver(lease, "one", clock)
    assert first.try_acquire() == ""
    lease.holder = "two"
    assert not first.renew_once()
    assert lease.lost == ["two"]
    assert lease.holder == "two"


@pytest.mark.parametrize("failure", [ApiUnavailable("down"), ApiRefused("403"), ApiConflict("409")])
def test_a_running_driver_survives_an_api_that_fails(clock: Clock, failure: Exception) -> None:
    lease = MemoryLease()
    first = driver(lease, "one", clock)
    assert first.try_acquire() == ""
    lease.failure = failure
    for _ in range(20):
        clock.now += 5.0
        assert first.renew_once()
    assert not lease.lost


def test_without_an_answer_a_driver_starts_after_a_while(clock: Clock) -> None:
    lease = MemoryLease(failure=ApiUnavailable("down"))
    first = driver(lease, "one", clock)
    assert "down" in first.try_acquire()
    clock.now = 29.9
    assert "down" in first.try_acquire()
    clock.now = 30.0
    assert first.try_acquire() == ""


def test_without_the_right_a_driver_starts_at_once(clock: Clock) -> None:
    assert driver(MemoryLease(failure=ApiRefused("403")), "one", clock).try_acquire() == ""


def test_a_driver_reports_that_it_waits_for_the_previous_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = MemoryLease("one")
    monkeypatch.setattr(driver_lease, "LeaseObject", lambda _namespace, _name: lease)
    monkeypatch.setenv("POD_NAME", "two")
    health, reasons = Health(), []

    def pause(_seconds: float) -> None:
        reasons.append(health.ready().reason)
        lease.holder = ""

    pods = ExecutorPods("demo-executor", "demo.here.svc", "here")
    with driver_lease.driver_lease(pods, health, pause, lambda: None):
        assert health.is_starting
        assert lease.holder == "two"
    assert reasons == ["waiting for the previous driver to end: the Lease demo is held by one"]
    assert lease.holder == ""
