"""A group's loop survives its lease for a grace period, rolls back after failures, and ends when it must."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.errors import GroupFenced, OffsetsLost, TransactionTooLong, Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.loop_calls import ANSWER_SECONDS, LoopBusy, LoopEnded
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.runner import GRACE_SECONDS, OUTLIVING_SECONDS, STUCK_SECONDS, GroupRunner


def lease(number: int) -> Lease:
    return Lease("c1", number, 0, 1, 1, 0, {"t": (0,)})


@dataclass
class Group:
    """A fake `TaskGroup` whose cycles raise the errors that the test sets."""

    is_open: bool = False
    is_finished: bool = False
    raises: list[BaseException] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    cycles: int = 0
    marks: int = 0
    confirms: int = 0
    closed: int = 0
    settings: Any = field(default_factory=lambda: SimpleNamespace(name="app-group-0"))
    turned: threading.Event = field(default_factory=threading.Event)

    asked: Callable[[], None] = lambda: None
    """Called while the group is opened, before other producers are fenced."""

    def open(self, lease: Lease, may_fence: Callable[[], bool]) -> None:
        self.asked()
        if not may_fence():
            raise Unavailable("the lease ended before the group was opened")
        self.opened.append(lease.number)
        self.is_open = True

    def cycle(self, lease: Lease, seconds: float) -> bool:
        self.cycles += 1
        self.turned.set()
        time.sleep(0.001)
        if self.raises:
            raise self.raises.pop(0)
        return True

    def confirm(self, seconds: float) -> None:
        self.confirms += 1

    def is_done(self, lease: Lease) -> bool:
        return self.is_finished

    def mark(self) -> None:
        self.marks += 1

    def abandon(self) -> None:
        self.is_open = False

    def close(self) -> None:
        self.abandon()
        self.closed += 1


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    group: Group = field(default_factory=Group)
    clock: Clock = field(default_factory=Clock)
    pacing: Pacing = field(default_factory=lambda: Pacing(Limits(max_records=800)))

    def __post_init__(self) -> None:
        group: Any = self.group
        keeper: Any = None
        self.runner = GroupRunner(group, self.pacing, keeper, self.clock)

    def wait(self, what: str, check: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not check():
            assert time.monotonic() < until, f"{what} did not happen"
            time.sleep(0.005)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.runner.stop()


def test_an_error_of_opening_is_raised_by_start(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Group, lease: Lease, may_fence: Callable[[], bool]) -> None:
        raise Unavailable("no broker")

    monkeypatch.setattr(Group, "open", refuse)
    with pytest.raises(Unavailable, match="no broker"):
        bench.runner.start(lease(1))
    assert not bench.runner.is_alive


def test_a_loop_continues_under_the_next_lease_without_reopening_its_group(bench: Bench) -> None:
    bench.runner.start(lease(1))
    bench.wait("a cycle", bench.group.turned.is_set)
    bench.runner.release()
    bench.runner.renew(lease(2))
    seen = bench.group.cycles
    bench.wait("more cycles", lambda: bench.group.cycles > seen)
    assert bench.group.opened == [1]


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        (GroupRunner.release, GRACE_SECONDS),
        (GroupRunner.outlive, OUTLIVING_SECONDS),
    ],
)
def test_a_loop_ends_and_releases_its_resources_after_the_grace_period(
    bench: Bench, end: Callable[[GroupRunner], None], seconds: float
) -> None:
    bench.runner.start(lease(1))
    end(bench.runner)
    bench.clock.now += seconds - 0.1
    assert bench.runner.between_commits(lambda: True)
    bench.clock.now += 0.2
    bench.wait("the end", lambda: not bench.runner.is_alive)
    assert bench.group.closed == 1
    assert bench.runner.failure is None


def test_a_loop_whose_lease_ends_while_it_reopens_its_group_fences_no_other_worker(bench: Bench) -> None:
    asked = threading.Event()

    def end_lease() -> None:
        bench.runner.release()
        asked.set()

    bench.runner.start(lease(1))
    bench.group.asked = end_lease
    bench.group.raises.append(Unavailable("the broker is away"))
    bench.wait("the attempt to open the group again", asked.is_set)
    bench.wait("its end", lambda: bench.runner.trouble.startswith("the lease ended"))
    assert bench.group.opened == [1]
    bench.group.asked = lambda: None
    bench.runner.renew(lease(2))
    bench.wait("the next lease", lambda: bench.group.opened == [1, 2])


def test_a_loop_that_released_its_group_stops_unless_a_lease_comes(bench: Bench) -> None:
    bench.runner.start(lease(1))
    assert bench.runner.is_working
    bench.runner.outlive()
    assert bench.runner.is_working
    bench.group.raises = [Unavailable("the broker is away for good")]
    bench.wait("giving up", lambda: not bench.runner.is_working)
    assert bench.runner.is_alive
    bench.runner.renew(lease(2))
    bench.wait("continuing", lambda: bench.runner.is_working)


def test_a_loop_checks_for_a_takeover_only_while_it_has_no_lease(bench: Bench) -> None:
    bench.runner.start(lease(1))
    bench.wait("cycles", lambda: bench.group.cycles > 5)
    assert not bench.group.confirms
    bench.runner.outlive()
    bench.wait("looking", lambda: bench.group.confirms > 1)
    bench.runner.renew(lease(2))
    bench.runner.between_commits(lambda: None)
    seen, cycles = bench.group.confirms, bench.group.cycles
    bench.wait("more cycles", lambda: bench.group.cycles > cycles + 5)
    assert bench.group.confirms == seen


def test_an_orphaned_loop_that_gets_a_new_lease_ends_after_the_usual_grace_period(bench: Bench) -> None:
    bench.runner.start(lease(1))
    bench.runner.outlive()
    bench.runner.renew(lease(2))
    bench.runner.release()
    bench.clock.now += GRACE_SECONDS + 0.1
    bench.wait("the end", lambda: not bench.runner.is_alive)


@pytest.mark.parametrize(("is_held", "closed"), [(True, 0), (False, 1)])
def test_a_group_taken_over_is_released_unless_a_lease_needs_the_error(
    bench: Bench, *, is_held: bool, closed: int
) -> None:
    bench.runner.start(lease(1))
    if not is_held:
        bench.runner.outlive()
    bench.group.raises.append(GroupFenced("another worker has it"))
    bench.wait("the end", lambda: not bench.runner.is_alive)
    assert bench.group.closed == closed
    assert isinstance(bench.runner.failure, GroupFenced)


def test_a_loop_continues_without_a_time_limit_while_its_lease_is_held(bench: Bench) -> None:
    bench.runner.start(lease(1))
    for _ in range(20):
        bench.clock.now += GRACE_SECONDS - 1.0
        bench.runner.hold()
        assert bench.runner.between_commits(lambda: True)
    assert bench.runner.is_alive
    assert not bench.runner.finished.is_set()


def test_a_loop_continues_without_a_time_limit_while_its_snapshots_are_written(bench: Bench) -> None:
    bench.runner.start(lease(1))
    for _ in range(5):
        bench.clock.now += GRACE_SECONDS - 0.1
        assert bench.runner.between_commits(lambda: True)
    assert bench.runner.is_alive


def test_records_that_the_broker_refused_are_rolled_back_and_retried(bench: Bench) -> None:
    bench.group.raises = [Unavailable("broker away")]
    bench.runner.start(lease(1))
    bench.wait("reopening", lambda: len(bench.group.opened) == 2)
    bench.wait("a cycle after", lambda: bench.group.cycles > 1)
    bench.wait("no more trouble", lambda: not bench.runner.trouble)
    assert bench.runner.failure is None


@pytest.mark.parametrize("error", [MemoryError(), TransactionTooLong("too long")])
def test_a_commit_that_was_too_large_makes_the_next_half_as_large(bench: Bench, error: Exception) -> None:
    bench.group.raises = [error]
    bench.runner.start(lease(1))
    bench.wait("reopening", lambda: len(bench.group.opened) == 2)
    assert bench.pacing.most == 400


@pytest.mark.parametrize("error", [GroupFenced("another"), OffsetsLost("gone"), ValueError("a defect")])
def test_an_error_that_can_not_be_retried_ends_the_loop(bench: Bench, error: Exception) -> None:
    bench.group.raises = [error]
    bench.runner.start(lease(1))
    assert bench.runner.finished.wait(20)
    bench.wait("the end", lambda: not bench.runner.is_alive)
    assert bench.runner.failure is error
    assert not bench.group.is_open
    assert bench.group.opened == [1]


def test_a_loop_without_a_lease_does_not_reopen_its_group(bench: Bench) -> None:
    bench.runner.start(lease(1))
    bench.runner.release()
    bench.group.raises = [Unavailable("broker away")]
    bench.wait("giving up", lambda: not bench.group.is_open)
    assert bench.runner.between_commits(lambda: bench.group.opened) == [1]
    bench.runner.renew(lease(2))
    bench.wait("opening", lambda: bench.group.opened == [1, 2])


def test_a_finished_lease_is_marked_once_and_the_loop_still_responds(bench: Bench) -> None:
    bench.group.is_finished = True
    bench.runner.start(lease(1))
    assert bench.runner.finished.wait(20)
    assert bench.runner.between_commits(lambda: bench.group.marks) == 1
    bench.group.is_finished = False
    bench.runner.renew(lease(2))
    assert not bench.runner.finished.is_set()
    bench.wait("a cycle", lambda: bench.group.cycles > 0)


def test_calls_run_on_the_loops_thread_and_raise_to_the_caller(bench: Bench) -> None:
    bench.runner.start(lease(1))
    assert bench.runner.between_commits(lambda: threading.current_thread().name) == "app-group-0"
    with pytest.raises(ZeroDivisionError):
        bench.runner.between_commits(lambda: 1 // 0)
    assert bench.runner.is_alive


def test_a_call_to_a_loop_that_has_ended_raises_an_error(bench: Bench) -> None:
    bench.group.raises = [ValueError("a defect")]
    bench.runner.start(lease(1))
    bench.wait("the end", lambda: not bench.runner.is_alive)
    with pytest.raises(LoopEnded):
        bench.runner.between_commits(lambda: 1)


@dataclass
class Busy:
    """A call on the loop's thread that lasts until the test ends it."""

    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)

    def occupy(self, runner: GroupRunner) -> None:
        """Start the call on a loop's thread."""
        threading.Thread(target=runner.between_commits, args=(self.run,), daemon=True).start()
        assert self.begun.wait(20)

    def run(self) -> str:
        self.begun.set()
        assert self.may_end.wait(20)
        return "done"


def test_a_call_that_times_out_before_a_busy_loop_starts_it_is_never_run(bench: Bench) -> None:
    bench.runner.start(lease(1))
    done: list[str] = []
    busy = Busy()
    busy.occupy(bench.runner)
    ahead = threading.Timer(0.05, lambda: setattr(bench.clock, "now", ANSWER_SECONDS + 1))
    ahead.start()
    with pytest.raises(LoopBusy, match="busy for 16 s"):
        bench.runner.between_commits(lambda: done.append("late"))
    busy.may_end.set()
    assert bench.runner.between_commits(lambda: "next") == "next"
    assert done == []


def test_a_running_call_may_take_longer_than_the_wait_for_its_start(bench: Bench) -> None:
    bench.runner.start(lease(1))
    busy = Busy()

    def go_on() -> None:
        assert busy.begun.wait(20)
        bench.clock.now = ANSWER_SECONDS + 1
        time.sleep(0.5)
        busy.may_end.set()

    ahead = threading.Thread(target=go_on)
    ahead.start()
    assert bench.runner.between_commits(busy.run) == "done"
    ahead.join()


def test_a_call_that_never_ends_is_given_up(bench: Bench) -> None:
    bench.runner.start(lease(1))
    busy = Busy()

    def go_on() -> None:
        assert busy.begun.wait(20)
        bench.clock.now = ANSWER_SECONDS + 6

    ahead = threading.Thread(target=go_on)
    ahead.start()
    with pytest.raises(Unavailable, match="has not answered a request"):
        bench.runner.between_commits(busy.run, seconds=5)
    busy.may_end.set()
    ahead.join()


def test_a_loop_is_stuck_if_a_cycle_exceeds_the_time_limit_of_its_calls(bench: Bench) -> None:
    bench.runner.start(lease(1))
    busy = Busy()
    busy.occupy(bench.runner)
    assert not bench.runner.is_stuck
    bench.clock.now = STUCK_SECONDS + 1
    assert bench.runner.is_alive
    begun = time.monotonic()
    bench.runner.stop()
    assert time.monotonic() - begun < 20, "the test waited for it"
    assert not bench.group.closed, "a call still works with what the group holds"
    busy.may_end.set()
    bench.wait("the end", lambda: not bench.runner.is_alive)


def test_a_loop_that_reads_a_long_changelog_again_is_not_stuck(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.runner.start(lease(1))
    busy = Busy()
    opens = Group.open

    def open_slowly(group: Group, lease: Lease, may_fence: Callable[[], bool]) -> None:
        busy.run()
        opens(group, lease, may_fence)

    monkeypatch.setattr(Group, "open", open_slowly)
    bench.group.raises = [Unavailable("the broker was away")]
    assert busy.begun.wait(20)
    bench.clock.now = STUCK_SECONDS + 1
    bench.runner.hold()
    assert not bench.runner.is_stuck
    busy.may_end.set()
    bench.wait("reopening", lambda: len(bench.group.opened) == 2)
    bench.runner.between_commits(lambda: None)
    assert not bench.runner.is_stuck


def test_a_loop_continues_while_its_lease_sends_a_snapshot_and_for_its_grace_after_that(bench: Bench) -> None:
    bench.runner.start(lease(1))
    bench.runner.hold(600.0)
    bench.clock.now += 2 * GRACE_SECONDS
    assert bench.runner.between_commits(lambda: True)
    bench.runner.release()
    bench.clock.now += GRACE_SECONDS + 0.1
    bench.wait("the end", lambda: not bench.runner.is_alive)
