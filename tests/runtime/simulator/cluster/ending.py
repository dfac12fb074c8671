"""What happens once everything is processed: the job stops, or its leases change, perhaps with a worker cut off."""

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
"""Within which a job stops, or its leases change, if every worker obeys."""
_CALM_SECONDS = 100.0
"""After which only the loops of the current leases run."""
_MOST_FENCES = 6
"""How many owners a group may get within that time."""
_REPORT_SECONDS = 5.0
"""Within which tasks report their lease."""
_AHEAD_SECONDS = 3_600.0
_MOST_CHANGES = 20
"""How often the leases change until a group stays with its worker."""
_FLAKY = 0.1
"""Share of requests to the control group that fail while a worker is cut off."""


class Ending:
    """Ends a run of a cluster in which no other fault happens any more."""

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
        """Stop the job while its input gets partitions: it ends within seconds, and its loops with it.

        No loop is left after the grace period of earlier leases.
        """
        cluster = self._cluster
        cluster.broker.add_partitions(INPUT, 8 * cluster.setup.partitions)
        stopped = self._stop(_SECONDS)
        if any(runner in stopped for process in cluster.processes for runner in process.runners()):
            cluster.findings.append("a worker waits for leases that do not follow")
        if not self._turn_until(lambda: not any(p.runners() for p in cluster.processes), GRACE_SECONDS + 5):
            cluster.findings.append("a loop continues after the job has stopped")

    def vanish(self) -> None:
        """End the driver and its executors for good: no loop is left once none waits for the next driver any more."""
        self._driver()
        cluster = self._cluster
        cluster.kill_driver()
        cluster.starts_at = float("inf")
        seconds = OUTLIVING_SECONDS + _SECONDS
        if not self._turn_until(lambda: not any(p.runners() for p in cluster.processes if not p.host.is_lost), seconds):
            cluster.findings.append("a loop continues without a driver")

    def stop_without_broker(self) -> None:
        """Stop the job while a worker does not reach the broker, and the control group fails now and then."""
        self._cut_off()
        self._stop(1.5 * STOP_SECONDS + _SECONDS)

    def change(self) -> None:
        """End the leases: all groups get their next ones."""
        self._change(None, _SECONDS)

    def change_with_a_clock_ahead(self) -> None:
        """End the leases while the driver's clock is ahead, and set it back: the next leases last."""
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
        """End the leases while a worker does not reach the broker: the other groups get their next leases."""
        self._change(self._cut_off(), 1.5 * CHANGE_SECONDS + _SECONDS)

    def change_before_report(self) -> None:
        """End the leases while a worker has had no broker since before its first report: other groups get new ones."""
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
        """Return the processes that hold the leases; none unless all groups run whose worker has a broker."""
        query = self._cluster.drivers[0].query if self._cluster.drivers else None
        tasks = [] if query is None or not query.isActive else query.query.tasks
        holders = [task.attempt.process for task in tasks if task.attempt is not None and not task.attempt.is_done]
        is_held = all(p is cut_off or any(runner.is_held for runner in p.runners()) for p in holders)
        return holders if is_held and len(holders) == self._cluster.setup.groups else []

    def _cut_off(self) -> Process:
        """Take the broker away from a worker with a lease that it has reported, for good."""
        self._driver()
        self._turn_until(lambda: False, _REPORT_SECONDS)
        process = self._cluster.random.choice(self._holders())
        process.cut_off_until = float("inf")
        self._cluster.control_faults = _FLAKY
        return process

    def _cut_off_before_report(self) -> Process | None:
        """Take the broker away from a worker that is about to continue with its loop under a new lease, for good.

        Returns:
            The worker; None if no group has stayed with its worker.
        """
        for _ in range(_MOST_CHANGES):
            self._driver().job.rebalance()
            self._turn_until(lambda: bool(self._continuing()), _REPORT_SECONDS)
            for process in self._continuing():
                process.cut_off_until = float("inf")
                return process
        return None

    def _continuing(self) -> list[Process]:
        """Return the processes with a new lease that has not begun, and with a loop that it can continue with."""
        loops = [process for process in self._cluster.processes if process.runners()]
        return [process for process in loops if process.attempt is not None and process.attempt.continues_loop]

    def _stop(self, seconds: float) -> list[SteppedRunner]:
        """Stop the job; return the loops of its leases that no earlier command ends."""
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
        """Let the cluster run until a condition holds, for so long at most; return whether it holds."""
        until = self._cluster.broker.now + seconds
        while not is_reached() and self._cluster.broker.now < until:
            self._cluster.turn()
        return is_reached()
