"""A producer starts once its reader is running, and a demo without progress is reported."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.figures import Figures
from forebay.demo.lanes import PATIENCE_SECONDS, READY_SECONDS, Lane, Lanes
from forebay.demo.view import ServiceView
from forebay.http.health import Verdict
from tests.demo.views import READY


class Watched:
    def __init__(self, number: int) -> None:
        self.service = SimpleNamespace(name=f"service-{number}")
        self.ready = self.commits = False

    def look(self) -> ServiceView:
        state = READY if self.ready else Verdict(False, "starting")
        return ServiceView(self.service.name, state, figures=Figures(commits=1) if self.commits else None)


class Process(Child):
    """A fake child process, which only records that it was started."""

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
def states() -> list[Watched]:
    return [Watched(number) for number in range(3)]


@pytest.fixture
def lanes(tmp_path: Path, states: list[Watched]) -> Lanes:
    lanes = [Lane([Process(f"producer {n}", tmp_path)], item) for n, item in enumerate(states)]  # type: ignore[arg-type]
    return Lanes(Process("jobs", tmp_path), lanes)


def names(children: list[Child]) -> list[str]:
    return [child.name for child in children]


def test_the_jobs_start_first_and_the_producers_once_all_of_them_read(lanes: Lanes, states: list[Watched]) -> None:
    assert names(lanes.next_to_start(0)) == ["jobs"]
    assert lanes.next_to_start(1) == []
    states[1].ready = states[0].ready = True
    assert lanes.next_to_start(2) == []
    states[2].ready = True
    assert names(lanes.next_to_start(3)) == ["producer 0", "producer 1", "producer 2"]
    assert lanes.next_to_start(4) == []
    assert names(lanes.producers) == ["producer 0", "producer 1", "producer 2"]


def test_a_job_that_does_not_read_keeps_the_others_producers_for_a_while_only(
    lanes: Lanes, states: list[Watched]
) -> None:
    lanes.next_to_start(5)
    states[1].ready = True
    assert lanes.next_to_start(4 + PATIENCE_SECONDS) == []
    assert names(lanes.next_to_start(5 + PATIENCE_SECONDS)) == ["producer 1"]
    states[2].ready = True
    assert names(lanes.next_to_start(6 + PATIENCE_SECONDS)) == ["producer 2"]


def test_an_ended_process_is_reported(lanes: Lanes, states: list[Watched]) -> None:
    states[0].ready = True
    lanes.next_to_start(0)
    lanes.next_to_start(PATIENCE_SECONDS)
    lanes.require_progress(1)
    (producer,) = lanes.producers
    producer.alive = False  # type: ignore[attr-defined]
    with pytest.raises(DemoError, match="the producer 0 ended"):
        lanes.require_progress(2)
    lanes.job.alive = False  # type: ignore[attr-defined]
    with pytest.raises(DemoError, match="the jobs ended"):
        lanes.require_progress(2)


def test_no_further_first_commit_for_a_long_time_is_reported(lanes: Lanes, states: list[Watched]) -> None:
    lanes.next_to_start(10)
    states[1].commits = True
    lanes.look()
    lanes.require_progress(200)
    lanes.require_progress(200 + READY_SECONDS)
    with pytest.raises(DemoError, match="no commit of service-0, service-2 for 300 s") as error:
        lanes.require_progress(201 + READY_SECONDS)
    assert error.value.log_tail == "last words"


def test_it_is_ready_once_every_job_has_committed(lanes: Lanes, states: list[Watched]) -> None:
    lanes.next_to_start(0)
    for item in states:
        assert not lanes.are_ready
        item.commits = True
        lanes.look()
        lanes.require_progress(1)
    lanes.require_progress(9 * READY_SECONDS)
    assert lanes.are_ready
