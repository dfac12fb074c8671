"""A driver of the simulated cluster, with its `JobRunner`, comparison of topics, lease planner and Spark query."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.driver.query_failures import JobStopped
from forebay.runtime.protocol.lease import Partitioned
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spark.planner import LeasePlanner
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryAdmin
from tests.runtime.simulator.cluster.control_group import ControlGroup
from tests.runtime.simulator.cluster.process import Executor, Process
from tests.runtime.simulator.cluster.query import Checkpoint, Query
from tests.runtime.simulator.cluster.session import OnBatch, Session, StreamingQuery
from tests.runtime.simulator.cluster.spec import INTERVAL_SECONDS
from tests.runtime.simulator.cluster.strand import Strand

_STEP_SECONDS = 0.2
_DEFECTS = (AssertionError, AttributeError, LookupError, NameError, TypeError)
"""Errors that the driver retries in production, but that must not occur in a run."""


class MachineClock:
    """The wall clock of a driver's machine.

    Attributes:
        seconds: Time (s) by which it is ahead.
    """

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self.seconds = seconds

    def __call__(self) -> int:
        """Return the time in ms."""
        return int((self._now() + self.seconds) * 1_000) + 1_700_000_000_000


class SteppedJob(JobRunner):
    """A job whose waits let the scheduler continue."""

    def __init__(self, driver: Driver, session: Any) -> None:
        super().__init__(
            session, driver.spec, Plan("/checkpoint", driver.trigger), lambda *_: None, monotonic=driver.now
        )
        self._driver = driver

    def _prepare(self) -> None:
        return

    def _connect(self) -> DriverControl:
        return self._driver.connect()

    def _pause(self, seconds: float) -> None:
        until = self._driver.now() + seconds
        while self._driver.now() < until and not self._stopping.is_set():
            self._driver.wait(_STEP_SECONDS)


class Driver:
    """One driver process with its executors.

    Args:
        clock: Clock of the driver's machine.
        new_process: Starts a worker process on an executor.

    Attributes:
        job: The job that the driver runs.
        trigger: Trigger of the query, which determines whether the job has end offsets.
        ends: End offsets of the job.
        stopped: Error with which the job has stopped for good.
        frozen_until: Time until which the driver does nothing.
    """

    def __init__(
        self,
        spec: Any,
        checkpoint: Checkpoint,
        broker: Broker,
        group: ControlGroup,
        clock: MachineClock,
        new_process: Callable[[Executor], Process],
        seed: random.Random,
        trigger: Trigger = Trigger.CONTINUOUS,
    ) -> None:
        self.spec = spec
        self.trigger = trigger
        self.ends: Partitioned = {}
        self._checkpoint = checkpoint
        self._broker = broker
        self._group: Any = group
        self.clock = clock
        self._new_process = new_process
        self._random = seed
        self.frozen_until = self.wakes_at = 0.0
        self.stopped: JobStopped | None = None
        self._planner = self._new_planner()
        self._looks_at = self.now() + INTERVAL_SECONDS
        self.executors = [Executor(), Executor()]
        self.query: StreamingQuery | None = None
        self.job = SteppedJob(self, Session(self._start))
        self._strand = Strand(self.job.run, self.now)
        self.wait = self._strand.wait

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return not self._strand.is_over

    def now(self) -> float:
        return self._broker.now

    def step(self) -> None:
        """Run a step of Spark's query, of the comparison of topics, and of the driver's loop."""
        self.wakes_at = self.now() + _STEP_SECONDS
        if self._strand.wakes_at <= self.now():
            self._strand.resume()
        if self.query is not None and self.query.isActive:
            self._run_query(self.query)
        if self.now() >= self._looks_at:
            self._look_at_topics()
        failure = self._strand.failure
        if isinstance(failure, JobStopped):
            self.stopped = failure
        elif failure is not None:
            raise failure

    def _run_query(self, query: StreamingQuery) -> None:
        try:
            query.query.step()
        except Exception as error:
            if isinstance(error, _DEFECTS) or isinstance(error.__cause__, _DEFECTS):
                raise
            query.fail(error)
        if query.query.is_over:
            query.isActive = False

    def kill(self) -> None:
        """End the process at once."""
        if self.query is not None:
            self.query.isActive = False
        self._strand.kill()

    def connect(self) -> DriverControl:
        """Return a new client of the control group."""
        return DriverControl(self.spec, self._group, self.clock)

    def _look_at_topics(self) -> None:
        self._looks_at = self.now() + INTERVAL_SECONDS
        topics = self._planner.topics()
        if topics is not None:
            self.job.compare_topics(topics)

    def _new_planner(self) -> LeasePlanner:
        clients: Any = MemoryAdmin(self._broker, lambda _: None), None
        return LeasePlanner(self.spec, clients, self.connect, self.clock)

    def _start(self, on_batch: OnBatch) -> StreamingQuery:
        planner = self._new_planner()
        if self.trigger is Trigger.AVAILABLE_NOW:
            planner.freeze()
            self.ends = planner.broker.latest()
        query = Query(self.spec, self._checkpoint, planner, self._place, on_batch)
        self.query = StreamingQuery(query, self.wait, lambda: self._stop_tasks(query))
        return self.query

    def _place(self) -> Process | None:
        """Return an idle worker process of one of the executors, or a new one."""
        alive = [executor for executor in self.executors if executor.is_alive]
        if not alive:
            return None
        executor = self._random.choice(alive)
        idle = [p for p in executor.processes if p.worker.is_alive and p.attempt is None and p.is_running]
        if idle and self._random.random() < 0.7:
            return self._random.choice(idle)
        return self._new_process(executor)

    def _stop_tasks(self, query: Query) -> None:
        """Kill most workers of the query's tasks, as Spark does. Some continue with their leases for a while."""
        for task in query.tasks:
            if task.attempt is not None and not task.attempt.is_done and self._random.random() < 0.6:
                task.attempt.process.worker.is_alive = False
