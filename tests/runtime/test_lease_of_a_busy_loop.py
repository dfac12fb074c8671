"""The loop of the previous lease holds the next one, even if it is busy; a stuck or ended loop is replaced."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark import leases
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.loops import Loops
from forebay.runtime.task.runner import LoopBusy

LEASE = Lease("c1", 2, 0, 1, 1, 0, {"t": (0,)})
IDENT = "app", "c1", 0
NAME = SimpleNamespace(name="app-group-0")


@dataclass
class Loop:
    """A loop whose keeper returns the given outcomes in order."""

    outcomes: list[Unavailable | None]
    is_alive: bool = True
    is_stuck: bool = False
    beat_ms: int = 7
    trouble: str = ""
    belongs_to: object = ("/checkpoint", {"t": 1})
    finished: threading.Event = field(default_factory=threading.Event)
    renewed: list[int] = field(default_factory=list)
    stopped: int = 0
    failure: None = None
    ends: list[str] = field(default_factory=list)
    group: Any = field(default_factory=lambda: SimpleNamespace(tasks=[], writers={}, settings=NAME, measure_lag=int))

    @property
    def keeper(self) -> Any:
        return self

    def put_waiting(self, loop: Loop) -> None:
        outcome = self.outcomes.pop(0)
        if outcome is not None:
            raise outcome

    def write(self, loop: Loop, seconds: float = 0) -> None:
        self.ends.append("wrote")

    def renew(self, lease: Lease) -> None:
        self.renewed.append(lease.number)

    def hold(self, seconds: float = 0) -> None:
        """Record that the lease is held."""

    def stop(self) -> None:
        self.stopped += 1

    def release(self) -> None:
        self.ends.append("released")

    def lose(self) -> None:
        self.ends.append("lost")


@dataclass
class Control:
    """A driver's control that records reports, and ends leases after a number of them."""

    ends_after: int = 1_000
    reports: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_told_to_end(self) -> bool:
        return len(self.reports) >= self.ends_after

    def tell(self, figures: object, beat_ms: int, trouble: str = "") -> None:
        self.reports.append((beat_ms, trouble))


def holding(monkeypatch: pytest.MonkeyPatch, loop: Loop, control: Control) -> Any:
    spec: Any = SimpleNamespace(
        application="app", checkpoint="/checkpoint", limits=SimpleNamespace(checkpoint_interval_ms=30_000)
    )
    monkeypatch.setattr(leases, "recall_matches", lambda spec: None)
    monkeypatch.setattr(WorkerControl, "of", lambda spec, lease: control)
    loops = Loops()
    loops.put(IDENT, loop)  # type: ignore[arg-type]
    monkeypatch.setattr(leases, "_LOOPS", loops)
    monkeypatch.setattr(leases._Holding, "_start", lambda self: "started")
    giver: Any = SimpleNamespace(is_gone=False)
    return leases._Holding(spec, LEASE, giver, time.monotonic())


def test_a_loop_continues_under_the_new_lease_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop([])
    assert holding(monkeypatch, loop, Control())._opened() is loop
    assert loop.renewed == [2]


@pytest.mark.parametrize(
    "loop",
    [
        Loop([], is_stuck=True),
        Loop([], is_alive=False),
        Loop([], belongs_to=("", {"t": 1})),
        Loop([], belongs_to=("/checkpoint", {"t": 2})),
    ],
)
def test_a_loop_that_is_stuck_has_ended_or_was_built_for_something_else_is_replaced(
    monkeypatch: pytest.MonkeyPatch, loop: Loop
) -> None:
    assert holding(monkeypatch, loop, Control())._opened() == "started"
    assert loop.stopped == 1
    assert not leases._LOOPS.all()


def test_a_stuck_loop_is_reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    holding(monkeypatch, Loop([], is_stuck=True), Control())._opened()
    assert caplog.messages == ["app-group-0: its loop is stuck in a call to the broker: another takes its place"]


def test_a_loop_that_is_busy_in_mid_lease_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(ends_after=2)
    loop = Loop([LoopBusy("busy"), None])
    holding(monkeypatch, loop, control)._hold(loop)
    assert control.reports == [(7, "busy"), (7, "")]


def test_a_store_that_fails_in_mid_lease_is_reported_and_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(ends_after=3)
    loop = Loop([Unavailable("the disk is full"), None])
    held = holding(monkeypatch, loop, control)
    held._hold(loop)
    assert control.reports == [(7, "the disk is full")] * 3
    assert len(loop.outcomes) == 1, "it is not asked at once"
    held._next_put = control.ends_after = 4
    held._hold(loop)
    assert control.reports[3:] == [(7, "")]


@pytest.mark.parametrize(("is_gone", "ends"), [(True, ["lost"]), (False, ["wrote", "released"])])
def test_a_lease_whose_worker_has_gone_leaves_its_loop_the_rest_of_its_time(
    monkeypatch: pytest.MonkeyPatch, *, is_gone: bool, ends: list[str]
) -> None:
    loop = Loop([])
    loop.finished.set()
    held = holding(monkeypatch, loop, Control())
    held._giver.is_gone = is_gone
    assert held.run() == []
    assert loop.ends == ends
