"""Jobs start in turns, as many together as the machine has cores for; one that doesn't get anywhere is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.lanes import READY_SECONDS, TURN_SECONDS, WAITS, Lane, next_to_start, starts_at_once
from forebay.demo.view import ServiceView
from forebay.runtime.health import Verdict
from tests.demo.views import READY


class Watched:
    def __init__(self) -> None:
        self.ready = False

    def look(self) -> ServiceView:
        return ServiceView("user-sessions", READY if self.ready else Verdict(False, "starting"))


class Process(Child):
    """A child that is only noted."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, (), folder / f"{name}.log", 1.0)
        self.alive = False

    def start(self) -> None:
        self.alive = True

    def require_alive(self) -> None:
        if not self.alive:
            raise DemoError(f"the {self.name} ended")

    def log_tail(self) -> str:
        return "last words"


@pytest.fixture
def lanes(tmp_path: Path) -> list[Lane]:
    return [
        Lane(Process(f"job {n}", tmp_path), [Process(f"producer {n}", tmp_path)], Watched())  # type: ignore[arg-type]
        for n in range(3)
    ]


def start(lanes: list[Lane], now: float, at_once: int = 1) -> list[str]:
    turn = next_to_start(lanes, now, at_once)
    for lane in turn:
        lane.start(now)
    return [lane.job.name for lane in turn]


def test_the_next_job_starts_once_the_one_before_has_had_a_commit(lanes: list[Lane]) -> None:
    assert start(lanes, 0) == ["job 0"]
    assert start(lanes, 1) == []
    lanes[0].watched.ready = True
    assert start(lanes, 2) == ["job 1"]


def test_a_job_that_takes_long_does_not_keep_the_others_waiting_for_ever(lanes: list[Lane]) -> None:
    start(lanes, 0)
    assert start(lanes, TURN_SECONDS - 1) == []
    assert start(lanes, TURN_SECONDS) == ["job 1"]


def test_as_many_start_together_as_there_are_cores_for(lanes: list[Lane]) -> None:
    assert start(lanes, 0, at_once=2) == ["job 0", "job 1"]
    lanes[1].watched.ready = True
    assert start(lanes, 1, at_once=2) == ["job 2"]
    assert start(lanes, 2, at_once=2) == []


@pytest.mark.parametrize(("cores", "together"), [(None, 1), (1, 1), (2, 1), (4, 2), (16, 8)])
def test_cores(cores: int | None, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert starts_at_once() == together


def test_one_that_waits_says_so(lanes: list[Lane]) -> None:
    assert lanes[0].look().state == WAITS
    lanes[0].start(0)
    assert lanes[0].look().state.reason == "starting"


def test_the_producers_start_with_their_job(lanes: list[Lane]) -> None:
    assert list(lanes[0].children) == []
    lanes[0].start(0)
    assert [child.name for child in lanes[0].children] == ["job 0", "producer 0"]


def test_an_ended_process_is_told(lanes: list[Lane]) -> None:
    lanes[0].start(0)
    lanes[0].require_progress(1)
    lanes[0].producers[0].alive = False  # type: ignore[attr-defined]
    with pytest.raises(DemoError, match="the producer 0 ended"):
        lanes[0].require_progress(2)


def test_no_commit_for_a_long_time_is_told(lanes: list[Lane]) -> None:
    lanes[1].require_progress(READY_SECONDS * 9)
    lanes[0].start(10)
    lanes[0].require_progress(10 + READY_SECONDS)
    with pytest.raises(DemoError, match="the job 0 has no commit after 300 s") as told:
        lanes[0].require_progress(11 + READY_SECONDS)
    assert told.value.log_tail == "last words"
    lanes[0].watched.ready = True
    lanes[0].require_progress(11 + READY_SECONDS)
