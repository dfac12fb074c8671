"""Worker processes and executors of the simulated cluster. Leases and loops run in turns instead of on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.leases import Holding
from forebay.runtime.spark.worker_process import WorkerProcess, is_working
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.loop_calls import LoopBusy, LoopEnded
from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from tests.runtime.simulator.cluster.control_group import ControlGroup
from tests.runtime.simulator.worker import Crashed, Environment, Worker, build, new_pacing

T = TypeVar("T")

_LOOK_SECONDS = 0.2


class SteppedRunner(GroupRunner):
    """A group's loop without a thread: the scheduler calls `turn`.

    Attributes:
        is_busy: Whether it is paused in the middle of a turn.
        wakes_at: Time of its next turn.
    """

    def __init__(self, group: TaskGroup, pacing: Pacing, keeper: SnapshotKeeper, now: Callable[[], float]) -> None:
        super().__init__(group, pacing, keeper, now, group.progress)
        self._now = now
        self.is_busy = False
        self.wakes_at = 0.0

    def turn(self) -> bool:
        self.is_busy = True
        try:
            return super().turn()
        finally:
            self.is_busy = False

    def between_commits(self, call: Callable[[], T], seconds: float = 0) -> T:
        if not self.is_alive:
            raise LoopEnded("the loop has ended")
        if self.is_busy:
            raise LoopBusy("the loop is in the middle of a commit")
        if self._is_held:
            self.hold()
        return call()

    @property
    def is_held(self) -> bool:
        """Whether a lease holds the loop."""
        return self._is_held

    def _launch(self) -> None:
        self.wakes_at = self._now()

    def _wait_for_end(self) -> None:
        if not self.is_busy:
            self.turn()

    def _rest(self) -> None:
        self._pause(0.1)

    def _pause(self, seconds: float) -> None:
        self.wakes_at = self._now() + seconds


class Process(WorkerProcess):
    """A worker process of an executor.

    Attributes:
        attempt: The current attempt at a lease.
        frozen_until: Time until which none of its threads runs.
        looks_at: Time at which it next checks its loops, if its executor has ended.
        cut_off_until: Time until which it can't reach the broker, although other processes can.
    """

    def __init__(self, environment: Environment, control: ControlGroup, host: Executor) -> None:
        self._environment = environment
        self._group: Any = control.client(lambda: self.is_cut_off)
        self._latest: WorkerControl | None = None
        self.looks_at = 0.0
        self._runners: dict[tuple[str, str, int], GroupRunner] = {}
        self.host = host
        self.worker = Worker(environment)
        self.attempt: Attempt | None = None
        self.frozen_until = self.cut_off_until = 0.0
        self.abandoned: list[SteppedRunner] = []
        """Loops that were replaced while they were stuck."""

    @property
    def loops(self) -> dict[tuple[str, str, int], GroupRunner]:
        return self._runners

    @property
    def executor(self) -> int:
        return 2 if self.host.is_alive else 1  # The first process adopts it.

    @property
    def is_running(self) -> bool:
        """Whether its threads may run."""
        worker = self.worker
        return worker.is_alive and not worker.is_paused and self.frozen_until <= self.monotonic()

    @property
    def is_cut_off(self) -> bool:
        """Whether it does not reach the broker."""
        return self.cut_off_until > self.monotonic()

    def monotonic(self) -> float:
        return self._environment.monotonic()

    def control(self, spec: Any, lease: Lease) -> WorkerControl:
        self._latest = WorkerControl(spec, lease, self._group, self.monotonic)
        return self._latest

    def build(self, spec: Any, lease: Lease) -> GroupRunner:
        environment, at = self._environment, self.worker.at
        storage = environment.store.storage(lease.checkpoint, at)
        pacing = new_pacing(environment)
        group = build(environment, lease, storage, at, pacing)
        keeper = SnapshotKeeper(storage, piece_rows=4, piece_blocks=1)
        return SteppedRunner(group, pacing, keeper, self.monotonic)

    def look_at_clock(self, spec: Any) -> None:
        return

    def stop(self, group: tuple[str, str, int]) -> None:
        runner = self._runners.get(group)
        super().stop(group)
        if isinstance(runner, SteppedRunner) and runner.is_busy:
            self.abandoned.append(runner)

    def look_after_orphans(self) -> None:
        """End the process, whose executor has ended, once its loops have nothing left to do."""
        self.looks_at = self.monotonic() + _LOOK_SECONDS
        loops = [*self._runners.values(), *self.abandoned]
        if not is_working(self._latest, loops):
            self.worker.is_alive = False

    def runners(self) -> list[SteppedRunner]:
        """Return the loops that run."""
        every = [*self._runners.values(), *self.abandoned]
        return [runner for runner in every if isinstance(runner, SteppedRunner) and runner.is_alive]


class Executor:
    """An executor of a driver.

    Attributes:
        is_lost: Whether its driver has lost the connection, and no longer knows its tasks.
    """

    def __init__(self) -> None:
        self.is_alive = True
        self.is_lost = False
        self.processes: list[Process] = []


class Attempt:
    """One attempt of Spark at a group's lease.

    Attributes:
        result: Result of its lease, after the end of the lease.
        failure: Error that ended it, if it did not end with its lease.
        is_done: Whether it has ended.
        wakes_at: Time of its next step.
    """

    def __init__(self, spec: Any, lease: Lease, process: Process) -> None:
        self.lease = lease
        self.process = process
        self._spec = spec
        self._holding: Holding | None = None
        self.result: LeaseResult | None = None
        self.failure: BaseException | None = None
        self.is_done = False
        self.wakes_at = 0.0
        process.attempt = self

    @property
    def continues_loop(self) -> bool:
        """Whether the lease has not begun, and the process has a loop of its group."""
        numbers = [key[2] for key, runner in self.process.loops.items() if runner.is_alive]
        return self._holding is None and self.lease.group in numbers

    def step(self) -> None:
        """Do what is due in the lease."""
        try:
            if self._holding is None:
                self._holding = Holding(self._spec, self.lease, self.process)
            self.result = self._holding.step()
            self.is_done = self.result is not None
        except Crashed:
            return
        except Exception as error:
            self.failure, self.is_done = error, True
        if self.is_done and self.process.attempt is self:
            self.process.attempt = None
