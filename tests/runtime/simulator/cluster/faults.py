"""Faults of drivers, executors, worker processes and clocks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.runtime.simulator.cluster.process import Executor
from tests.runtime.simulator.worker import TOMBSTONE_SECONDS

if TYPE_CHECKING:
    from tests.runtime.simulator.cluster.driver import Driver
    from tests.runtime.simulator.cluster.world import Cluster

_CLOCKS = (-3_600.0, -15.0, 0.0, 15.0, 3_600.0)
_FREEZES = (1.0, 5.0, 25.0)
_LOST_SECONDS = 400.0
"""Time (s) for which an executor continues after its driver has lost it."""


class Faults:
    """Random faults of a cluster.

    Args:
        cluster: The cluster.
        seed: Seed of the faults.
    """

    def __init__(self, cluster: Cluster, seed: random.Random) -> None:
        self._cluster = cluster
        self._random = seed
        self._looked_at = 0.0
        self._leaving: list[tuple[float, Executor]] = []
        """Executors that have lost their driver, and the times at which they end."""

    def draw(self) -> None:
        """Apply the faults that have become due since the last call."""
        now = self._cluster.broker.now
        share, self._looked_at = (now - self._looked_at) * self._cluster.leases.rate, now
        if self._random.random() < share:
            kind = self._random.choice(self._cluster.leases.kinds)
            self._cluster.seen[kind] += 1
            getattr(self, kind)()
        if self._random.random() < 0.05:
            self._cluster.control.deliver()
        if self._random.random() < 0.02:
            self._cluster.broker.coordinator.expire(5.0)

    def end_executors(self) -> None:
        """End the executors that lost their driver long enough ago."""
        for at, executor in list(self._leaving):
            if at <= self._cluster.broker.now:
                self._end_executor(executor)

    def end(self) -> None:
        """End lasting faults. Nothing is frozen, one driver remains, and executors end whose driver has ended."""
        cluster = self._cluster
        for driver in cluster.drivers[:-1]:
            self._kill(driver)
        for driver in cluster.drivers:
            driver.frozen_until = 0.0
        for at, executor in list(self._leaving):
            # An executor that its driver has lost continues with its leases.
            if at < cluster.broker.now + _LOST_SECONDS / 2:
                self._end_executor(executor)
        for process in cluster.processes:
            process.frozen_until = process.cut_off_until = 0.0

    def kill_driver(self) -> None:
        """Kill a driver. Its executors end at once or some seconds later."""
        if self._cluster.drivers:
            self._kill(self._random.choice(self._cluster.drivers))

    def freeze_driver(self) -> None:
        """Freeze a driver for a while."""
        for driver in self._cluster.drivers[:1]:
            driver.frozen_until = self._cluster.broker.now + self._random.choice(_FREEZES)

    def add_second_driver(self) -> None:
        """Start another driver on the checkpoint, or end one of two."""
        drivers = self._cluster.drivers
        if len(drivers) > 1:
            self._kill(self._random.choice(drivers))
        else:
            self._draw_clock()
            self._cluster.add_driver()

    def kill_executor(self) -> None:
        """Kill an executor; another one takes its place."""
        for driver in self._cluster.drivers[:1]:
            executor = self._lose(driver, self._random.choice(driver.executors))
            if self._random.random() < 0.5:
                self._end_executor(executor)
            else:
                # The driver has lost the connection, and the executor does not know it yet.
                executor_ends_at = self._cluster.broker.now + self._random.choice(_FREEZES)
                self._leaving.append((executor_ends_at, executor))

    def lose_executor(self) -> None:
        """Let a driver lose an executor. The executor does not know this and continues with its leases."""
        for driver in self._cluster.drivers[:1]:
            executor = self._lose(driver, self._random.choice(driver.executors))
            self._leaving.append((self._cluster.broker.now + _LOST_SECONDS, executor))

    def add_executor(self) -> None:
        """Let an executor join, so that the driver ends all leases."""
        for driver in self._cluster.drivers[-1:]:
            driver.executors.append(Executor())
            driver.job.rebalance()

    def kill_process(self) -> None:
        """Kill a worker process."""
        if self._cluster.processes:
            self._random.choice(self._cluster.processes).worker.is_alive = False

    def freeze_process(self) -> None:
        """Freeze a worker process for a while. Its driver may then consider the executor lost."""
        if self._cluster.processes:
            process = self._random.choice(self._cluster.processes)
            until = process.frozen_until = self._cluster.broker.now + self._random.choice(_FREEZES)
            for driver in self._cluster.drivers:
                if process.host in driver.executors and self._random.random() < 0.6:
                    self._lose(driver, process.host)
                    self._leaving.append((until + self._random.choice((0.0, 3.0, 10.0)), process.host))

    def cut_off_process(self) -> None:
        """Cut off the broker from a worker process for a while, or until the last fault."""
        if self._cluster.processes:
            process = self._random.choice(self._cluster.processes)
            process.cut_off_until = self._cluster.broker.now + self._random.choice((5.0, 25.0, 1_000.0))

    def set_clock(self) -> None:
        """Set the clock of a driver's machine."""
        self._draw_clock()
        for driver in self._cluster.drivers[-1:]:
            driver.clock.seconds = self._cluster.clock_seconds

    def move_coordinator(self) -> None:
        """Let another broker coordinate the transactions."""
        self._cluster.broker.coordinator.move()

    def compact(self) -> None:
        """Compact the changelogs; deletes are kept for a limited time."""
        self._cluster.broker.compact(self._cluster.changelogs, TOMBSTONE_SECONDS)

    def damage_snapshots(self) -> None:
        """Delete, truncate or change some files of snapshots, or delete all files."""
        files = self._cluster.store.files
        some = self._random.sample(sorted(files), min(len(files), self._random.choice((1, 3, 1_000))))
        for path in some:
            data, kind = files[path], self._random.choice(("delete", "cut", "change"))
            if kind == "delete" or len(some) > 3:
                del files[path]
            elif kind == "cut":
                files[path] = data[: self._random.randrange(len(data))]
            else:
                at = self._random.randrange(len(data))
                files[path] = data[:at] + bytes([data[at] ^ (1 << self._random.randrange(8))]) + data[at + 1 :]

    def change_groups(self) -> None:
        """Restore to a new checkpoint with another number of groups."""
        cluster = self._cluster
        for driver in list(cluster.drivers):
            self._kill(driver)
        for process in cluster.processes:
            # A worker that comes back with the first lease of an earlier restore would restore once more.
            process.worker.is_alive &= not (process.is_cut_off or process.host.is_lost)
        cluster.change_groups(3 - cluster.setup.groups)

    def _lose(self, driver: Driver, executor: Executor) -> Executor:
        """Let a driver lose an executor, and get another one; return the lost one."""
        executor.is_lost = True
        driver.executors.remove(executor)
        driver.executors.append(Executor())
        return executor

    def rescale(self) -> None:
        """End the job and all its workers, and give its state another number of tasks."""
        cluster = self._cluster
        for driver in list(cluster.drivers):
            self._kill(driver)
        for process in cluster.processes:
            process.worker.is_alive = False
        cluster.rescale(self._random.choice((1, 2, 4)))

    def _draw_clock(self) -> None:
        self._cluster.clock_seconds = self._random.choice(_CLOCKS)

    def _kill(self, driver: Driver) -> None:
        cluster = self._cluster
        driver.kill()
        cluster.drivers.remove(driver)
        self._draw_clock()
        cluster.starts_at = cluster.broker.now + self._random.choice((0.0, 1.0, 8.0))
        self.leave(driver)

    def leave(self, driver: Driver) -> None:
        """End the executors of a driver that has ended, at once or some seconds later."""
        cluster = self._cluster
        for executor in driver.executors:
            self._leaving.append((cluster.broker.now + self._random.choice((0.0, 0.0, 2.0, 10.0)), executor))

    def _end_executor(self, executor: Executor) -> None:
        """End an executor. Its worker processes end with it, or survive it if their pod does."""
        self._leaving = [(at, other) for at, other in self._leaving if other is not executor]
        executor.is_alive = False
        for process in executor.processes:
            if self._random.random() < 0.5:
                process.worker.is_alive = False
