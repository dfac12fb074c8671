"""The simulated cluster: `world.World` with the product's code of drivers and leases, and with a model of Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count, takewhile

from confluent_kafka import KafkaError, KafkaException

from forebay.job import global_tables
from forebay.partitioner import partition_of
from forebay.runtime.driver.plan import Trigger
from forebay.runtime.driver.query_failures import JobStopped
from forebay.runtime.protocol.lease import Lease, LeaseOffset
from tests.runtime.simulator.cluster.control_group import ControlGroup
from tests.runtime.simulator.cluster.draining import is_refused, unread
from tests.runtime.simulator.cluster.driver import Driver, MachineClock
from tests.runtime.simulator.cluster.ending import Ending
from tests.runtime.simulator.cluster.faults import Faults
from tests.runtime.simulator.cluster.process import Executor, Process
from tests.runtime.simulator.cluster.query import Checkpoint
from tests.runtime.simulator.cluster.recreation import Recreation
from tests.runtime.simulator.cluster.rescaling import MemoryRescale
from tests.runtime.simulator.cluster.setup import LeaseSetup
from tests.runtime.simulator.cluster.spec import spec_of
from tests.runtime.simulator.driving import Driving
from tests.runtime.simulator.topologies import APPLICATION, INPUT, JsonCodec, Number
from tests.runtime.simulator.worker import Worker
from tests.runtime.simulator.world import SILENT, World

MOST_SECONDS = 30.0
"""Time (s) after the last fault within which everything must be processed."""


class Cluster(World):
    """The run of a setup, including the driver's part of the protocol.

    Attributes:
        findings: Errors that were observed during the run.
    """

    def __init__(self, setup: LeaseSetup, seed: int, inputs: int = 0) -> None:
        super().__init__(setup.plain, seed, inputs)
        self.leases = setup
        self.driving = PlannedLeases(self)
        self.findings: list[str] = []
        self.control_faults = 0.0
        """Share of requests to the control group that fail after the other faults."""
        self.control = ControlGroup(self.random, lambda: 0.1 if self._trouble else self.control_faults, self.seen)
        self.processes: list[Process] = []
        self.drivers: list[Driver] = []
        self.checkpoint = Checkpoint()
        self.clock_seconds = 0.0
        """Time by which the clock of the latest driver's machine is ahead."""
        self._runs = self._restores = 0
        self._faults = Faults(self, self.random)
        self._stopped: JobStopped | None = None
        """Error with which the job has stopped for good."""
        self.starts_at = 0.0
        """Time at which the next driver starts if no driver runs."""
        self.recreation = Recreation(self) if setup.recreates_input else None
        if setup.adds_partitions:
            self._add_records_of_new_partitions()

    def run(self) -> None:
        try:
            self._run()
        finally:
            for driver in self.drivers:
                driver.kill()

    def _run(self) -> None:
        self._trouble = self.setup.trouble
        ends_at = self.leases.seconds if self._trouble else 0.0
        try:
            while self.broker.now < ends_at:
                self.turn()
        except JobStopped:
            if self.recreation is None:
                raise
            return
        self._trouble = 0.0
        self._faults.end()
        self.calm_since = self.broker.now
        if self.recreation is not None:
            self.recreation.run()
            return
        while not self._has_processed_all():
            if self.broker.now > self.calm_since + 2 * MOST_SECONDS:
                self.findings.append(f"not done {2 * MOST_SECONDS:.0f} s after the last fault")
                return
            self.turn()
        if self._trouble_seconds > MOST_SECONDS:
            self.findings.append(f"not done {self._trouble_seconds:.0f} s after the last fault")
        if self.leases.outlasts_grace:
            Ending(self).outlast_grace()
        if self.leases.end:
            getattr(Ending(self), self.leases.end)()

    @property
    def _trouble_seconds(self) -> float:
        return self.broker.now - self.calm_since

    def turn(self) -> None:
        """Let a component do one step."""
        if self._trouble:
            self._faults.draw()
            if self.recreation is not None:
                self.recreation.draw()
        self._faults.end_executors()
        self._produce_some()
        self._start_driver()
        self._remove_ended()
        actors = self._actors()
        now = self.broker.now
        ready = [act for wakes_at, act in actors if wakes_at <= now]
        if ready:
            self.random.choice(ready)()
            self._check_drivers()
            # Within a pause, the worker that is paused would take the error for its own.
            if self._stopped is not None and not self._depth:
                raise self._stopped
        else:
            self.wait(min([wakes_at - now for wakes_at, _ in actors] + [0.5]))

    def _actors(self) -> list[tuple[float, Callable[[], object]]]:
        actors: list[tuple[float, Callable[[], object]]] = []
        for driver in self.drivers:
            actors.append((max(driver.wakes_at, driver.frozen_until), driver.step))
        for process in self.processes:
            if not process.worker.is_alive or process.worker.is_paused:
                continue
            if process.attempt is None and not process.host.is_alive:
                actors.append((max(process.looks_at, process.frozen_until), process.look_after_orphans))
            if process.attempt is not None:
                actors.append((max(process.attempt.wakes_at, process.frozen_until), self._step_of(process)))
            for runner in process.runners():
                if not runner.is_busy:
                    actors.append((max(runner.wakes_at, process.frozen_until), runner.turn))
        return actors

    def _step_of(self, process: Process) -> Callable[[], None]:
        attempt = process.attempt
        assert attempt is not None

        def step() -> None:
            attempt.wakes_at = float("inf")
            attempt.step()
            attempt.wakes_at = self.broker.now + self.random.choice((0.1, 0.1, 0.5))

        return step

    def _check_drivers(self) -> None:
        for driver in [driver for driver in self.drivers if not driver.is_alive]:
            self.drivers.remove(driver)
            self._faults.leave(driver)
            if not self.leases.drains:
                self._stopped = self._stopped or driver.stopped
            elif is_refused(driver):
                self.seen["runs whose leases another driver ended"] += 1
            elif driver.stopped is None:
                self.seen["runs to end offsets"] += 1
                self.findings += unread(self, driver)
            else:
                self._stopped = driver.stopped

    def _start_driver(self) -> None:
        if not self.drivers and self._stopped is None and self.broker.now >= self.starts_at:
            self.add_driver()

    def add_driver(self) -> Driver:
        """Start a driver on the checkpoint."""
        self._runs += 1
        offset = self.clock_seconds
        spec = spec_of(
            f"run {self._runs}",
            self.job,
            self.setup.tasks,
            self.setup.groups,
            self.changelogs,
            restore=self._restores > 0,
        )
        clock = MachineClock(lambda: self.broker.now, offset)
        trigger = Trigger.AVAILABLE_NOW if self.leases.drains else Trigger.CONTINUOUS
        seed = random.Random(self._runs)
        driver = Driver(spec, self.checkpoint, self.broker, self.control, clock, self._new_process, seed, trigger)
        self.drivers.append(driver)
        return driver

    def _new_process(self, executor: Executor) -> Process:
        process = Process(self, self.control, executor)
        executor.processes.append(process)
        self.processes.append(process)
        return process

    def _remove_ended(self) -> None:
        """Remove processes that have ended."""
        for process in list(self.processes):
            if not process.worker.is_paused and not process.worker.is_alive:
                self.processes.remove(process)
                process.host.processes.remove(process)

    def _end(self, worker: Worker) -> None:
        worker.is_alive = False

    def at(self, worker: Worker, point: str) -> None:
        super().at(worker, point)
        if point in SILENT or point.startswith("state."):
            return
        if any(process.worker is worker and process.is_cut_off for process in self.processes):
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def _pause(self, worker: Worker) -> None:
        """Pause a process, or only the loop that made the call, while the others continue."""
        process = next((process for process in self.processes if process.worker is worker), None)
        is_only_loop = process is not None and any(r.is_busy for r in process.runners()) and self.random.random() < 0.4
        worker.is_paused = not is_only_loop
        self._depth += 1
        until = self.broker.now + self.random.choice((0.2, 2.0, 10.0, 30.0))
        self.seen["loop pauses" if is_only_loop else "process pauses"] += 1
        while self.broker.now < until and worker.is_alive:
            self.turn()
        self._depth -= 1
        worker.is_paused = False

    def _produce_some(self) -> None:
        if self.to_come and self.random.random() < 0.1:
            count = self.random.randrange(1, 6) if self._trouble else len(self.to_come) // 2 + 1
            if self._trouble and self.leases.grows_late:
                known = (place in self.broker.partitions for place, *_ in self.to_come)
                count = min(count, sum(1 for _ in takewhile(bool, known)) - 9)
                if count <= 0:
                    return
            if any(place not in self.broker.partitions for place, *_ in self.to_come[: count + 9]):
                self.broker.add_partitions(INPUT, 2 * self.setup.partitions)
            self.produce(count)

    def _add_records_of_new_partitions(self) -> None:
        """Append some records to each added partition. Their keys occur in no other partition."""
        half = len(self.to_come) // 2
        last = self.to_come[half:]
        for number, (_, _, _, time) in enumerate(list(last)):
            partition = self.setup.partitions + number % self.setup.partitions
            value = JsonCodec().encode(Number(time, 1 + number))
            keys = (f"new{number}-{attempt}".encode() for attempt in count())
            key = next(key for key in keys if partition_of(key, 2 * self.setup.partitions) == partition)
            last.append(((INPUT, partition), key, value, time))
        self.to_come[half:] = sorted(last, key=lambda record: record[3])

    def _has_processed_all(self) -> bool:
        has_read_inputs = bool(not self.to_come and self.checkpoint.offsets) and all(
            self.broker.marked.get(place, (0, ""))[0] >= partition.end
            for place, partition in self.broker.partitions.items()
            if place[0] == INPUT
        )
        if len(self.job.topology) == 1 or not has_read_inputs:
            return has_read_inputs
        held = [runner for process in self.processes for runner in process.runners() if runner.is_held]
        used = all(self.driving.has_used_all(task.input) for runner in held for task in runner.group.tasks)
        return used and len(held) == self.setup.groups

    def kill_driver(self) -> None:
        """Kill the driver, whose executors end soon."""
        self._faults.kill_driver()

    def rescale(self, tasks: int) -> None:
        """Rescale the state to another number of tasks, and restore it with a new checkpoint."""
        self._fence()
        if MemoryRescale(self, tasks).run():
            self.is_rescaled = True
            self.setup = replace(self.setup, tasks=tasks)
            self.change_groups(min(tasks, 2))

    def change_groups(self, groups: int) -> None:
        """Restore the state with a new checkpoint and another number of groups, as `--restore` does."""
        self._fence()
        self.setup = replace(self.setup, groups=groups)
        self.checkpoint, self.store = Checkpoint(), self._new_store()
        self._restores += 1

    def _fence(self) -> None:
        for group in range(self.setup.groups):
            self.broker.coordinator.init(f"{APPLICATION}-group-{group}")


class PlannedLeases(Driving):
    """The leases of the latest plan, for the comparison of a restarted worker's rows."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._cluster = cluster

    def lease(self, group: int) -> Lease:
        offsets = self._cluster.checkpoint.offsets
        offset = LeaseOffset.from_json(json.loads(offsets[max(offsets)]))
        assert offset is not None
        return offset.leases(global_tables(self._cluster.job))[group]
