"""The end of a run after all records are processed, in which the job stops or its leases change.

In some runs, a worker loses its connection to the broker at this time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from forebay.runtime.driver.lease_end import CHANGE_SECONDS, STOP_SECONDS
from forebay.runtime.spark.leases import SILENT_SECONDS
from forebay.runtime.task.runner import GRACE_SECONDS, OUTLIVING_SECONDS
from tests.runtime.simulator.cluster.query import ATTEMPTS
from tests.runtime.simulator.topologies import APPLICATION, INPUT

if TYPE_CHECKING:
    from tests.runtime.simulator.cluster.driver import Driver
    from tests.runtime.simulator.cluster.process import Process, SteppedRunner
    from tests.runtime.simulator.cluster.world import Cluster

_SECONDS = 30.0
"""Time (s) within which a job stops, or its leases change, if all workers respond."""
_CALM_SECONDS = 100.0
"""Time (s) after which only the loops of the current leases run."""
_MOST_FENCES = 6
"""Largest number of owners of a group within that time."""
_REPORT_SECONDS = 5.0
"""Time (s) within which tasks report their lease."""
_AHEAD_SECONDS = 3_600.0
_MOST_CHANGES = 20
"""Largest number of changes of the leases until a group remains with its worker."""
_FLAKY = 0.1
"""Share of requests to the control group that fail while a worker has no connection to the broker."""


class Ending:
    """The ways to end the run of a cluster, after the last random fault."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def outlast_grace(self) -> None:
        """Run until all loops of earlier leases must have ended."""
        cluster = self._cluster
        names = [f"{APPLICATION}-group-{group}" for group in range(cluster.setup.groups)]
        identities = cluster.broker.coordinator.identities
        epochs = [identities[name].epoch for name in names]
        self._turn_until(lambda: False, _CALM_SECONDS)
        for name, epoch in zip(names, epochs, strict=True):
            fences = identities[name].epoch - epoch
            if fences > _MOST_FENCES:
                cluster.findings.append(f"{name} got {fences} owners within {_CALM_SECONDS:.0f} s without faults")
        for group in range(cluster.setup.groups):
            loops = [
                process
                for process in cluster.processes
                for runner in process.runners()
                if process.worker.is_alive and runner.group.settings.name == f"{APPLICATION}-group-{group}"
            ]
            if len(loops) != 1:
                cluster.findings.append(f"group {group} has {len(loops)} loops after the grace period")

    def stop(self) -> None:
        """Stop the job while partitions are added to its input. The job and its loops must end within seconds.

        After the grace period of earlier leases, no loop may be running.
        """
        cluster = self._cluster
        cluster.broker.add_partitions(INPUT, 8 * cluster.setup.partitions)
        stopped = self._stop(_SECONDS)
        if any(runner in stopped for process in cluster.processes for runner in process.runners()):
            cluster.findings.append("a worker waits for leases that do not follow")
        if not self._turn_until(lambda: not any(p.runners() for p in cluster.processes), GRACE_SECONDS + 5):
            cluster.findings.append("a loop continues after the job has stopped")

    def vanish(self) -> None:
        """End the driver and its executors for good. Once the loops have waited for another driver, they must end."""
        self._driver()
        cluster = self._cluster
        cluster.kill_driver()
        cluster.starts_at = float("inf")
        seconds = OUTLIVING_SECONDS + _SECONDS
        if not self._turn_until(lambda: not any(p.runners() for p in cluster.processes if not p.host.is_lost), seconds):
            cluster.findings.append("a loop continues without a driver")

    def stop_without_broker(self) -> None:
        """Stop the job while a worker can't reach the broker, and some requests to the control group fail."""
        self._cut_off()
        self._stop(1.5 * STOP_SECONDS + _SECONDS)

    def change(self) -> None:
        """End the leases. All groups must get their next leases."""
        self._change(None, _SECONDS)

    def change_with_a_clock_ahead(self) -> None:
        """End the leases while the driver's clock is ahead, and then set the clock back. The next leases must last."""
        cluster, driver = self._cluster, self._driver()
        command = cluster.control.latest(INPUT)
        driver.clock.seconds += _AHEAD_SECONDS
        driver.job.rebalance()
        self._turn_until(lambda: cluster.control.latest(INPUT) > command, _SECONDS)
        driver.clock.seconds -= _AHEAD_SECONDS
        self._turn_until(lambda: False, _REPORT_SECONDS)
        query = self._driver().query
        batch = -1 if query is None else query.query.batch
        self._turn_until(lambda: False, _SECONDS)
        if driver.query is not query or query is None or query.query.batch > batch:
            cluster.findings.append("leases do not last after a command of a clock that was ahead")

    def change_without_broker(self) -> None:
        """End the leases while a worker can't reach the broker. The other groups must get their next leases."""
        self._change(self._cut_off(), 1.5 * CHANGE_SECONDS + _SECONDS)

    def change_before_report(self) -> None:
        """End the leases while a worker, before its first report, has no broker. Other groups must get new leases."""
        cut_off = self._cut_off_before_report()
        if cut_off is not None:
            self._change(cut_off, ATTEMPTS * SILENT_SECONDS + 2 * _SECONDS)

    def _change(self, cut_off: Process | None, seconds: float) -> None:
        driver = self._driver()
        query = driver.query
        assert query is not None
        batch = query.query.batch
        driver.job.rebalance()

        def have_changed() -> bool:
            # A new query may hand out the same leases again.
            is_next = driver.query is not query or query.query.batch > batch
            return is_next and bool(self._holders(cut_off))

        if not self._turn_until(have_changed, seconds):
            self._cluster.findings.append(f"the groups have no new leases after {seconds:.0f} s")

    def _driver(self) -> Driver:
        """Return the driver, once all groups have leases of its query."""
        self._turn_until(lambda: bool(self._holders()), 2 * _SECONDS)
        return self._cluster.drivers[0]

    def _holders(self, cut_off: Process | None = None) -> list[Process]:
        """Return the processes that hold the leases, or none if a group is down although its worker has a broker."""
        query = self._cluster.drivers[0].query if self._cluster.drivers else None
        tasks = [] if query is None or not query.isActive else query.query.tasks
        holders = [task.attempt.process for task in tasks if task.attempt is not None and not task.attempt.is_done]
        is_held = all(p is cut_off or any(runner.is_held for runner in p.runners()) for p in holders)
        return holders if is_held and len(holders) == self._cluster.setup.groups else []

    def _cut_off(self) -> Process:
        """Cut off the broker from a worker with a reported lease, for the rest of the run."""
        self._driver()
        self._turn_until(lambda: False, _REPORT_SECONDS)
        process = self._cluster.random.choice(self._holders())
        process.cut_off_until = float("inf")
        self._cluster.control_faults = _FLAKY
        return process

    def _cut_off_before_report(self) -> Process | None:
        """Cut off the broker from a worker that is about to continue its loop with a new lease, until the run ends.

        Returns:
            The worker, or None if no group has remained with its worker.
        """
        for _ in range(_MOST_CHANGES):
            self._driver().job.rebalance()
            self._turn_until(lambda: bool(self._continuing()), _REPORT_SECONDS)
            for process in self._continuing():
                process.cut_off_until = float("inf")
                return process
        return None

    def _continuing(self) -> list[Process]:
        """Return the processes that have a new lease which has not begun, and a loop with which it can continue."""
        loops = [process for process in self._cluster.processes if process.runners()]
        return [process for process in loops if process.attempt is not None and process.attempt.continues_loop]

    def _stop(self, seconds: float) -> list[SteppedRunner]:
        """Stop the job. Return the loops of those leases that no earlier command ends."""
        cluster, driver = self._cluster, self._driver()
        command = cluster.control.latest(INPUT)
        holders = [p for p in self._holders() if p.attempt is not None and p.attempt.lease.planned_at > command]
        loops = [runner for process in holders for runner in process.runners() if runner.is_held]
        cluster.starts_at = float("inf")
        driver.job.stop()
        if not self._turn_until(lambda: driver not in cluster.drivers, seconds):
            cluster.findings.append(f"the job has not stopped within {seconds:.0f} s")
        return loops

    def _turn_until(self, is_reached: Callable[[], bool], seconds: float) -> bool:
        """Run the cluster until a condition is true, for at most `seconds`. Return whether it is true."""
        until = self._cluster.broker.now + seconds
        while not is_reached() and self._cluster.broker.now < until:
            self._cluster.turn()
        return is_reached()
