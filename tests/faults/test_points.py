"""An armed fault fires once, at the call for which it is armed and in the first process that reaches this call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faults.points import Action, Armed, Armory, Point

FAULT = Armed(Point.AFTER_COMMIT, Action.STALL, seconds=1.5)


@pytest.fixture
def armory(tmp_path: Path) -> Armory:
    return Armory(tmp_path)


def test_nothing_happens_if_no_fault_is_armed(armory: Armory) -> None:
    assert armory.take(Point.PLANNING, "") is None
    assert armory.fired_at() is None
    assert armory.shift() == 0


def test_a_fault_fires_once_at_the_call_for_which_it_is_armed(armory: Armory) -> None:
    armory.arm(FAULT, calls=3)
    assert [armory.take(Point.AFTER_COMMIT, "app-group-0") for _ in range(5)] == [None, None, FAULT, None, None]
    assert armory.fired_at() is not None


def test_other_points_and_places_do_not_count(armory: Armory) -> None:
    armory.arm(Armed(Point.AFTER_COMMIT, Action.KILL_SELF, where="app-group-1"))
    assert armory.take(Point.BEFORE_COMMIT, "app-group-1") is None
    assert armory.take(Point.AFTER_COMMIT, "app-group-0") is None
    assert armory.take(Point.AFTER_COMMIT, "app-group-1") is not None


def test_of_many_calls_at_once_one_fires(armory: Armory) -> None:
    for _ in range(20):
        armory.arm(FAULT, calls=8)
        with ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(lambda _: Armory(armory.directory).take(Point.AFTER_COMMIT, ""), range(8)))
        assert len([fault for fault in taken if fault is not None]) <= 1
        late = armory.take(Point.AFTER_COMMIT, "")
        assert len([fault for fault in (*taken, late) if fault is not None]) <= 1


def test_a_disarmed_fault_never_fires_and_a_rearmed_one_waits_again(armory: Armory) -> None:
    armory.arm(FAULT)
    armory.disarm()
    assert armory.take(Point.AFTER_COMMIT, "") is None
    armory.arm(FAULT)
    assert armory.take(Point.AFTER_COMMIT, "") == FAULT
    armory.arm(FAULT)
    assert armory.fired_at() is None


def test_the_clock_is_shifted(armory: Armory) -> None:
    armory.jump(-60_000)
    assert armory.shift() == -60_000


def test_a_job_does_not_linger_after_a_request_to_hurry(armory: Armory, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("faults.points.time.sleep", slept.append)
    armory.linger(0.05)
    armory.hurry()
    armory.linger(0.05)
    assert slept == [0.05]
