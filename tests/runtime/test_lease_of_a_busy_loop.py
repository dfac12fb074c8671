"""A lease whose loop is busy: it waits for it as long as it lasts, then goes; a loop that is stuck is replaced."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

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
    """A loop that answers with the outcomes it is given, one after the other."""

    outcomes: list[bool | LoopBusy]
    is_alive: bool = True
    is_stuck: bool = False
    beat_ms: int = 7
    trouble: str = ""
    finished: threading.Event = field(default_factory=threading.Event)
    renewed: list[int] = field(default_factory=list)
    stopped: int = 0
    failure: None = None
    ends: list[str] = field(default_factory=list)
    group: Any = field(default_factory=lambda: SimpleNamespace(tasks=[], writers={}, settings=NAME, measure_lag=int))

    def between_commits(self, call: object, seconds: float = 0) -> bool:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, LoopBusy):
            raise outcome
        return outcome

    def renew(self, lease: Lease) -> None:
        self.renewed.append(lease.number)

    def hold(self) -> None:
        """Note that the lease is held."""

    def stop(self) -> None:
        self.stopped += 1

    def release(self) -> None:
        self.ends.append("released")

    def lose(self) -> None:
        self.ends.append("lost")


@dataclass
class Control:
    """What the driver is told, and says: leases end once it was told so often."""

    ends_after: int = 1_000
    told: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_told_to_end(self) -> bool:
        return len(self.told) >= self.ends_after

    def tell(self, figures: object, beat_ms: int, trouble: str = "") -> None:
        self.told.append((beat_ms, trouble))


def holding(monkeypatch: pytest.MonkeyPatch, loop: Loop, control: Control) -> Any:
    spec: Any = SimpleNamespace(application="app", limits=SimpleNamespace(checkpoint_interval_ms=30_000))
    monkeypatch.setattr(leases, "recall_matches", lambda spec: None)
    monkeypatch.setattr(WorkerControl, "of", lambda spec, lease: control)
    loops = Loops()
    loops.put(IDENT, loop)  # type: ignore[arg-type]
    monkeypatch.setattr(leases, "_LOOPS", loops)
    monkeypatch.setattr(leases._Holding, "_made", lambda self: "made anew")
    storage: Any = SimpleNamespace(is_gone=False)
    return leases._Holding(spec, LEASE, storage, time.monotonic())


def test_a_loop_that_was_busy_goes_on_under_the_new_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, control = Loop([LoopBusy("app-group-0: busy"), True]), Control()
    assert holding(monkeypatch, loop, control)._opened() is loop
    assert loop.renewed == [2]
    assert control.told == [(7, "app-group-0: busy")], "the driver knows what it waits for"


def test_a_lease_whose_loop_is_busy_until_its_end_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop([LoopBusy("busy")] * 9)
    assert holding(monkeypatch, loop, Control(ends_after=3))._opened() is None
    assert len(loop.outcomes) == 6
    assert leases._LOOPS.all(), "the next lease may find it ready"
    assert not loop.stopped


@pytest.mark.parametrize("loop", [Loop([], is_stuck=True), Loop([], is_alive=False), Loop([False])])
def test_a_loop_that_is_stuck_ended_or_not_what_spark_holds_is_replaced(
    monkeypatch: pytest.MonkeyPatch, loop: Loop
) -> None:
    assert holding(monkeypatch, loop, Control())._opened() == "made anew"
    assert loop.stopped == 1
    assert not leases._LOOPS.all()


def test_a_loop_that_is_stuck_is_told_of(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    holding(monkeypatch, Loop([], is_stuck=True), Control())._opened()
    assert caplog.messages == ["app-group-0: its loop is stuck in a call to the broker: another takes its place"]


def test_a_loop_that_is_busy_in_mid_lease_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[LoopBusy | None] = [LoopBusy("busy"), None]

    def put_waiting(loop: Loop) -> None:
        if answer := answers.pop(0):
            raise answer

    control = Control(ends_after=2)
    held = holding(monkeypatch, loop := Loop([]), control)
    monkeypatch.setattr(held._keeper, "put_waiting", put_waiting)
    held._hold(loop)
    assert control.told == [(7, "busy"), (7, "")]


@pytest.mark.parametrize(("is_gone", "ends"), [(True, ["lost"]), (False, ["wrote", "released"])])
def test_a_lease_whose_worker_has_gone_leaves_its_loop_the_rest_of_its_time(
    monkeypatch: pytest.MonkeyPatch, *, is_gone: bool, ends: list[str]
) -> None:
    loop = Loop([True])
    loop.finished.set()
    held = holding(monkeypatch, loop, Control())
    held._storage.is_gone = is_gone
    monkeypatch.setattr(held._keeper, "write", lambda loop: loop.ends.append("wrote"))
    assert held.run() == []
    assert loop.ends == ends
