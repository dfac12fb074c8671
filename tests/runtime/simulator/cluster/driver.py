"""A driver: the planner of leases, the watch of the topics, the control group, and what `JobRunner` does with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException

from forebay.runtime.errors import StopJob, Unavailable
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spark.topic_watch import TopicWatch
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryAdmin
from tests.runtime.simulator.cluster.control_group import ControlGroup
from tests.runtime.simulator.cluster.process import Executor, Process
from tests.runtime.simulator.cluster.query import Checkpoint, Query, QueryFailed
from tests.runtime.simulator.cluster.spec import INTERVAL_SECONDS

_STEP_SECONDS = 0.2
_ASK_AGAIN_SECONDS = 5.0
_TELL_SECONDS = 1.0
_LONGEST_PAUSE = 8.0


class MachineClock:
    """The wall clock of a driver's machine.

    Attributes:
        seconds: how far it is ahead.
    """

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self.seconds = seconds

    def __call__(self) -> int:
        """Return the time in ms."""
        return int((self._now() + self.seconds) * 1_000) + 1_700_000_000_000


class Driver:
    """One driver process with its executors.

    Args:
        clock: of the driver's machine.
        new_process: starts a worker process on an executor.

    Attributes:
        stopped: why the job has stopped for good.
        frozen_until: until when the driver does nothing.
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
    ) -> None:
        self.spec = spec
        self.checkpoint = checkpoint
        self._broker = broker
        self._group: Any = group
        self.clock = clock
        self._new_process = new_process
        self._random = seed
        self.is_alive = True
        self.frozen_until = self.wakes_at = 0.0
        self.stopped: StopJob | None = None
        self.is_rebalancing = False
        self._asked_at = self._told_at = self._looks_at = float("-inf")
        self._pause = 1.0
        self.executors = [Executor(), Executor()]
        self.query: Query | None = None

    def step(self) -> None:
        """Do one round of the driver's loop, and of Spark's query and the watch of the topics."""
        now = self._broker.now
        self.wakes_at = now + _STEP_SECONDS
        try:
            if self.query is None:
                self._start()
            self._command(now)
            assert self.query is not None
            batches = self.query.batches
            self.query.step()
            if self.query.batches > batches:
                self._pause, self.is_rebalancing = 1.0, False
            if now >= self._looks_at:
                self._looks_at = now + INTERVAL_SECONDS
                self._watch.look()
        except StopJob as error:
            self.stopped, self.is_alive = error, False
        except (QueryFailed, Unavailable) as error:
            if isinstance(error.__cause__, StopJob):
                self.stopped, self.is_alive = error.__cause__, False
            self.stop_query()
            self.wakes_at = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _start(self) -> None:
        self._control = self._connect()
        with suppress(KafkaException):
            self._control.end_leases(is_followed=True)
        clients: Any = MemoryAdmin(self._broker, lambda _: None), None
        planner = LeasePlanner(self.spec, clients, self._connect, self.clock)
        self._watch = TopicWatch(planner, planner.end_leases, INTERVAL_SECONDS)
        self._looks_at = self._broker.now + INTERVAL_SECONDS
        self.query = Query(self.spec, self.checkpoint, planner, self._place, self._random)

    def _connect(self) -> DriverControl:
        return DriverControl(self.spec, self._group, self.clock)

    def _command(self, now: float) -> None:
        if self.is_rebalancing and now - self._asked_at >= _ASK_AGAIN_SECONDS:
            self._asked_at = now
            with suppress(KafkaException):
                self._control.end_leases(is_followed=True)
        if now - self._told_at >= _TELL_SECONDS:
            self._told_at = now
            with suppress(KafkaException):
                self._control.figures()

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

    def stop_query(self) -> None:
        """End the query. Spark kills most workers of its tasks; some continue with their leases for a while."""
        if self.query is not None:
            for task in self.query.tasks:
                if task.attempt is not None and not task.attempt.is_done and self._random.random() < 0.6:
                    task.attempt.process.worker.is_alive = False
        self.query = None
