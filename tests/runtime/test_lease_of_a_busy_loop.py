"""A lease lasts until the driver ends it, even if its loop ends or is stuck, and writes a snapshot every interval."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.errors import GroupFenced, Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spark import leases
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.worker_process import WorkerProcess
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.loop_calls import LoopBusy
from forebay.runtime.task.pacing import Limits

LEASE = Lease("c1", 2, 0, 1, 1, 0, {"t": (0,)})
GROUP = "app", "c1", 0
LIMITS = Limits(checkpoint_interval_ms=30_000)
SPEC: Any = SimpleNamespace(application="app", checkpoint="/checkpoint", limits=LIMITS)
NAME = SimpleNamespace(name="app-group-0")


@dataclass
class Loop:
    """A loop whose snapshot keeper raises the `outcomes` one after the other, and then succeeds."""

    outcomes: list[Unavailable] = field(default_factory=list)
    is_alive: bool = True
    is_stuck: bool = False
    beat_ms: int = 7
    trouble: str = ""
    belongs_to: object = ("/checkpoint", LIMITS, {"t": 1}, None)
    finished: threading.Event = field(default_factory=threading.Event)
    renewed: list[int] = field(default_factory=list)
    failure: Exception | None = None
    events: list[str] = field(default_factory=list)
    is_taken_over: bool = True
    group: Any = field(default_factory=lambda: SimpleNamespace(tasks=[], writers={}, settings=NAME, measure_lag=int))

    def __post_init__(self) -> None:
        self.group.is_taken_over = lambda lease: self.is_taken_over
        self.keeper = SimpleNamespace(put_waiting=self.put_waiting, write=self.write, trouble="")

    def put_waiting(self, loop: Loop) -> None:
        if self.outcomes:
            raise self.outcomes.pop(0)

    def write(self, loop: Loop, seconds: float = 0) -> None:
        self.put_waiting(loop)
        self.events.append("wrote")

    def renew(self, lease: Lease) -> None:
        self.renewed.append(lease.number)

    def hold(self, seconds: float = 0) -> None:
        """Do nothing."""

    def stop(self) -> None:
        self.events.append("stopped")

    def release(self) -> None:
        self.events.append("released")

    def outlive(self) -> None:
        self.events.append("outlives")


@dataclass
class Control:
    """The worker's side of the control group. The driver ends the lease after `ends_after` reports.

    Args:
        reported: Called at each report.
    """

    ends_after: int = 1_000
    is_followed: bool = True
    silent_seconds: float = 0.0
    is_reported: bool = True
    reported: Callable[[], object] = lambda: None
    reports: list[tuple[int, str]] = field(default_factory=list)

    @property
    def must_end(self) -> bool:
        return len(self.reports) >= self.ends_after

    def report(self, figures: object, beat_ms: int, trouble: str = "") -> None:
        self.reports.append((beat_ms, trouble))
        self.reported()


class Process(WorkerProcess):
    """A worker process with a clock that the test advances."""

    def __init__(self, loops: dict[Any, Any], control: Control, executor: int) -> None:
        self._loops = loops
        self._control: Any = control
        self.now = 0.0
        self.parent = executor

    @property
    def loops(self) -> dict[Any, Any]:
        return self._loops

    @property
    def executor(self) -> int:
        return self.parent

    def monotonic(self) -> float:
        return self.now

    def control(self, spec: JobSpec, lease: Lease) -> WorkerControl:
        control: WorkerControl = self._control
        return control


@dataclass
class Bench:
    """A lease that is held in this process.

    Args:
        loop: The loop that already runs, or None.
        next_loops: Loops that are started if it can't be used.
        executor: Id of the parent process.
    """

    monkeypatch: pytest.MonkeyPatch
    loop: Loop | None
    control: Control
    lease: Lease = LEASE
    next_loops: list[Loop] = field(default_factory=list)
    executor: int = 7

    def __post_init__(self) -> None:
        self.loops: dict[Any, Any] = {} if self.loop is None else {GROUP: self.loop}
        self.monkeypatch.setattr(leases, "_WAIT_SECONDS", 0.001)
        self.monkeypatch.setattr(leases, "recall_matches", lambda spec: None)
        self.monkeypatch.setattr(leases, "look_again", lambda application: None)
        self.process = Process(self.loops, self.control, self.executor)

        def start(holding: object) -> Loop:
            loop = self.loops[GROUP] = self.next_loops.pop(0)
            return loop

        self.monkeypatch.setattr(leases.Holding, "_start", start)
        self.holding = leases.Holding(SPEC, self.lease, self.process)

    def pass_time(self, seconds: float) -> None:
        self.process.now += seconds


def test_a_loop_continues_under_the_new_lease_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop()
    bench = Bench(monkeypatch, loop, Control(ends_after=1))
    assert bench.holding.run() == LeaseResult(LEASE.planned_at, reports=[])
    assert loop.renewed == [2]


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_loop_is_released_for_the_next_lease_or_stopped_if_none_follows(
    monkeypatch: pytest.MonkeyPatch, *, is_followed: bool
) -> None:
    loop = Loop()
    bench = Bench(monkeypatch, loop, Control(ends_after=3, is_followed=is_followed))
    bench.holding.run()
    assert loop.events == ["wrote", "released" if is_followed else "stopped"]
    assert bool(bench.loops) == is_followed


def test_a_lease_writes_a_snapshot_in_every_interval_until_it_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, control = Loop(), Control(ends_after=100)
    bench = Bench(monkeypatch, loop, control)
    control.reported = lambda: bench.pass_time(6.0)
    bench.holding.run()
    assert loop.events == ["wrote"] * (99 * 6 // 30) + ["wrote", "released"]


@pytest.mark.parametrize(
    "loop",
    [
        Loop(is_stuck=True),
        Loop(is_alive=False),
        Loop(belongs_to=("", LIMITS, {"t": 1})),
        Loop(belongs_to=("/checkpoint", LIMITS, {"t": 2})),
        Loop(belongs_to=("/checkpoint", replace(LIMITS, max_records=1), {"t": 1})),
    ],
)
def test_a_stuck_ended_or_mismatched_loop_is_replaced(monkeypatch: pytest.MonkeyPatch, loop: Loop) -> None:
    new = Loop()
    bench = Bench(monkeypatch, loop, Control(ends_after=1), next_loops=[new])
    bench.holding.run()
    assert loop.events == ["stopped"]
    assert bench.loops == {GROUP: new}


@pytest.mark.parametrize("end", ["is_stuck", "is_alive"])
def test_a_loop_that_gets_stuck_or_ends_during_its_lease_is_replaced_within_it(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    loop, new, control = Loop(), Loop(), Control(ends_after=20)
    bench = Bench(monkeypatch, loop, control, next_loops=[new])

    def report() -> None:
        if len(control.reports) == 10:
            setattr(loop, end, end == "is_stuck")
            if end == "is_alive":
                loop.finished.set()

    control.reported = report
    bench.holding.run()
    assert loop.events == ["stopped"]
    assert new.events == ["wrote", "released"]


def test_a_loop_that_is_stuck_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    Bench(monkeypatch, Loop(is_stuck=True), Control(ends_after=1), next_loops=[Loop()]).holding.run()
    assert caplog.messages == ["app-group-0: its loop is stuck in a call to the broker: starting another loop"]


def test_a_lease_raises_the_error_that_ended_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(failure=GroupFenced("another has it"))
    loop.finished.set()
    bench = Bench(monkeypatch, loop, Control())
    with pytest.raises(GroupFenced):
        bench.holding.run()
    assert not bench.loops


def test_a_loop_survives_the_end_of_its_lease_s_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, control = Loop(), Control()
    bench = Bench(monkeypatch, loop, control)
    control.reported = lambda: setattr(bench.process, "parent", 1)
    with pytest.raises(Unavailable, match="the executor of this worker has ended"):
        bench.holding.run()
    assert loop.events == ["outlives"]


def test_a_lease_is_over_if_its_executor_ended_before_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop()
    bench = Bench(monkeypatch, loop, Control(), executor=1)
    with pytest.raises(Unavailable, match="the executor of this worker has ended"):
        bench.holding.run()
    assert not loop.events


def test_a_call_to_a_busy_loop_is_repeated_during_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(ends_after=2)
    Bench(monkeypatch, Loop([LoopBusy("busy")]), control).holding.run()
    assert control.reports == [(7, "busy"), (7, "")]


def test_a_store_failure_during_a_lease_is_reported_and_retried_later(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(ends_after=4)
    bench = Bench(monkeypatch, Loop([Unavailable("the disk is full")]), control)
    control.reported = lambda: bench.pass_time(2.0)
    bench.holding.run()
    assert control.reports == [(7, "the disk is full")] * 3 + [(7, "")]


def test_an_idle_loop_whose_group_was_taken_over_ends_with_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop([GroupFenced("another has it")])
    bench = Bench(monkeypatch, loop, Control())
    with pytest.raises(GroupFenced):
        bench.holding.run()
    assert loop.events == ["stopped"]
    assert not bench.loops


def test_a_snapshot_that_failed_is_written_again_before_the_next_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, control = Loop(), Control(ends_after=22)
    bench = Bench(monkeypatch, loop, control)

    def report() -> None:
        bench.pass_time(2.0)
        if bench.process.now == 30.0:
            loop.outcomes.append(Unavailable("the disk is full"))

    control.reported = report
    bench.holding.run()
    assert loop.events == ["wrote", "wrote", "released"], "one of the interval, and one at the end"


def test_a_loop_that_reached_its_end_offsets_is_released_for_the_lease_that_aligns_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(belongs_to=("/checkpoint", LIMITS, {"t": 1}, {"t": (9,)}))
    loop.finished.set()
    result = Bench(monkeypatch, loop, Control(), replace(LEASE, until={"t": (9,)})).holding.run()
    assert loop.events == ["wrote", "released"]
    assert not result.is_cut_short


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize("until", [None, {"t": (9,)}])
def test_the_result_of_a_lease_states_whether_it_ended_before_its_end_offsets(
    monkeypatch: pytest.MonkeyPatch, until: dict[str, tuple[int, ...]] | None, *, begins: bool
) -> None:
    loop = Loop(belongs_to=("/checkpoint", LIMITS, {"t": 1}, until))
    bench = Bench(monkeypatch, loop, Control(ends_after=int(begins)), replace(LEASE, until=until))
    assert bench.holding.run().is_cut_short is (until is not None)


def test_a_lease_with_other_end_offsets_replaces_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, new = Loop(), Loop()
    lease = replace(LEASE, until={"t": (9,)})
    bench = Bench(monkeypatch, loop, Control(ends_after=1), lease, next_loops=[new])
    bench.holding.run()
    assert loop.events == ["stopped"]
    assert not loop.renewed


@pytest.mark.parametrize("restore_only", [True, False])
def test_a_lease_that_restores_reads_up_to_its_end_offsets(
    monkeypatch: pytest.MonkeyPatch, *, restore_only: bool
) -> None:
    control, lease = Control(), replace(LEASE, until={"t": (9,)}, restore=True, restore_only=restore_only)
    loop = Loop(belongs_to=("/checkpoint", LIMITS, {"t": 1}, {"t": (9,)}))
    bench = Bench(monkeypatch, loop, control, lease)

    def report() -> None:
        bench.pass_time(10.0)
        if len(control.reports) == 20:
            loop.finished.set()

    control.reported = report
    result = bench.holding.run()
    assert len(control.reports) == (3 if restore_only else 20)
    assert not result.is_cut_short


def test_a_lease_that_restores_ends_once_the_state_belongs_to_the_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, control = Loop(is_taken_over=False), Control()
    bench = Bench(monkeypatch, loop, control, replace(LEASE, restore=True))

    def report() -> None:
        bench.pass_time(10.0)
        loop.is_taken_over = len(control.reports) >= 5

    control.reported = report
    bench.holding.run()
    assert len(control.reports) == 5
    assert loop.events[-2:] == ["wrote", "released"]


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_lease_that_restores_does_not_end_before_it_has_opened_its_group(
    monkeypatch: pytest.MonkeyPatch, *, is_followed: bool
) -> None:
    control = Control(ends_after=0, is_followed=is_followed)
    bench = Bench(monkeypatch, None, control, replace(LEASE, restore=True))

    def fail(holding: leases.Holding) -> None:
        holding._logged = "the broker is away"

    monkeypatch.setattr(leases.Holding, "_start", fail)
    assert bench.holding.step() is None
    if is_followed:
        assert bench.holding.step() is None
    else:
        with pytest.raises(
            Unavailable, match="was stopped before it began, so no state was restored: the broker is away"
        ):
            bench.holding.step()
