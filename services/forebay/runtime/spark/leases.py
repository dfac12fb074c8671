"""A lease in a worker of Spark: it keeps a group's loop running and writes snapshots until the driver ends it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from forebay.kafka.librdkafka_log import end_when_starved
from forebay.runtime.errors import GroupFenced, Unavailable
from forebay.runtime.process.logs import configure_logging
from forebay.runtime.process.memory import collect_seldom
from forebay.runtime.process.survivors import survive_executor, survives_executor
from forebay.runtime.process.watchdog import die_when_silent
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.lease_result import LeaseResult
from forebay.runtime.spark.lease_reports import final_reports, measured_figures
from forebay.runtime.spark.worker_process import GroupKey, WorkerProcess, is_process_working
from forebay.runtime.spec import JobSpec, recall_matches
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.loop_calls import ANSWER_SECONDS, LoopBusy
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.task.snapshot_writing import ALL_SECONDS
from forebay.runtime.worker.broker_clock import look_again

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.1
_RETRY_SECONDS = 1.0
SILENT_SECONDS = 60.0
"""How long a lease waits for an answer from the broker if the driver does not know that it has begun. Then Spark
retries it on another executor. Without an answer, this executor would not see that the lease should end. The driver
would wait for it, too, because it allows leases that have not begun the time to load their tables. Meanwhile, the other
groups would get no leases."""
_SENDING_SECONDS = 180.0
"""How long the loop continues while blocks and snapshots are sent, because the store may not answer."""
_STORE_SECONDS = 5.0
"""How long to wait before the next request to a store of snapshots that failed."""

_ORPHANED = "the executor of this worker has ended"
_INIT = 1
"""Id of the process that adopts a worker whose executor has ended, perhaps before the lease began."""


def hold(spec: JobSpec, lease: str) -> str:
    """Hold a lease until it is over; return its result (`LeaseResult`). Both are JSON."""
    configure_logging(spec.log_format)
    collect_seldom()
    end_when_starved()
    die_when_silent()
    survive_executor(is_process_working)
    return Holding(spec, Lease.from_json(lease), WorkerProcess()).run().to_json()


class Holding:
    """One lease from its beginning to its end.

    Args:
        process: the process that holds the lease.
    """

    def __init__(self, spec: JobSpec, lease: Lease, process: WorkerProcess) -> None:
        recall_matches(spec)
        self._spec = spec
        self._lease = lease
        self._process = process
        self._group: GroupKey = spec.application, lease.checkpoint, lease.group
        self._interval = spec.limits.checkpoint_interval_ms / 1000
        self._begun = self._opened_at = process.monotonic()
        self._executor = process.executor
        self._runner: GroupRunner | None = None
        """The loop that this lease opened or continues."""
        self._logged = self._trouble = ""
        self._next_put = float("-inf")
        self._next_snapshot = self._begun + self._interval
        self._control = process.control(spec, lease)

    def run(self) -> LeaseResult:
        """Hold the lease; return its result. Raises the error that ended the loop, or Unavailable."""
        while True:
            result = self.step()
            if result is not None:
                return result
            if self._runner is None:
                time.sleep(_RETRY_SECONDS)
            else:
                self._runner.finished.wait(_WAIT_SECONDS)

    def step(self) -> LeaseResult | None:
        """Run one step; return the lease's result once it is over. Raises the errors of `run`."""
        runner = self._runner
        if runner is None:
            if self._is_orphaned:
                raise Unavailable(_ORPHANED)
            # A lease that has not opened its group has no work to finish, so it is over at once.
            if self._control.must_end:
                if not self._lease.restore:
                    return self._result(is_done=False)
                # If this lease ended without an error, the next one would assume that the state is restored.
                if self._logged and not self._control.is_followed:
                    raise Unavailable(
                        f"the restore was stopped before it began, so no state was restored: {self._logged}"
                    )
            runner = self._runner = self._open()
            if runner is None:
                self._check_broker(self._logged)
                return None
        if not self._needs_change(runner):
            # This sends snapshots and reports, which may take long. The check is repeated, because the lease may end
            # in the meantime.
            self._hold(runner)
            if not self._needs_change(runner):
                self._check_broker(runner.trouble)
                return None
        if runner.failure is not None:
            self._process.stop(self._group)
            raise runner.failure
        if self._is_orphaned:
            runner.outlive()
            # If the executor still runs, it repeats the task. A result would look like the end of the lease.
            raise Unavailable(_ORPHANED)
        is_done = runner.finished.is_set() and runner.is_alive
        if is_done or self._is_over:
            self._end(runner)
            return self._result(final_reports(runner), is_done=is_done)
        self._runner = self._open()
        return None

    def _check_broker(self, trouble: str) -> None:
        """Give up the lease if the driver does not know that it has begun, and the broker has long been silent.

        Args:
            trouble: what the group waits for, or "".

        Raises:
            Unavailable: the lease is given up.
        """
        control = self._control
        # Opening the group may have taken longer, but when it ended, the broker had answered.
        silent = min(control.silent_seconds, self._process.monotonic() - self._opened_at)
        if control.is_reported or silent <= SILENT_SECONDS:
            return
        reason = "the executor has no connection to the broker"
        log.warning(
            "%s: %s: no answer for %.0f s since lease %d began: Spark retries the lease on another executor: %s",
            self._spec.transactional_id(self._lease.group),
            reason,
            silent,
            self._lease.number,
            trouble or "no request has failed yet",
        )
        if self._runner is not None:
            self._runner.release()
        raise Unavailable(f"{reason}: {trouble}" if trouble else reason)

    def _needs_change(self, runner: GroupRunner) -> bool:
        """Return whether the lease is over, or needs another loop."""
        has_ended = runner.finished.is_set() or not runner.is_alive or runner.is_stuck
        return has_ended or self._is_orphaned or self._is_over

    def _open(self) -> GroupRunner | None:
        """Return the group's loop, running; None if the broker does not answer."""
        runner = self._process.loops.get(self._group)
        if runner is not None:
            if runner.is_alive and not runner.is_stuck and runner.belongs_to == self._origin:
                # If another worker has taken over the group since, the loop's next commit fails.
                runner.renew(self._lease)
                return runner
            if runner.is_stuck:
                name = runner.group.settings.name
                log.warning("%s: its loop is stuck in a call to the broker: starting another loop", name)
            self._process.stop(self._group)
        return self._start()

    @property
    def _origin(self) -> object:
        """The values that a loop must have been built with, so that this lease can continue with it."""
        # The clients of a loop learn of a topic's new partitions only after minutes, and its inputs keep the end
        # offsets with which they were opened.
        shape = {topic: len(offsets) for topic, offsets in self._lease.start.items()}
        return self._spec.checkpoint, self._spec.limits, shape, self._lease.until

    def _start(self) -> GroupRunner | None:
        """Return a new, running loop that begins with the snapshots; None if the broker does not answer."""
        runner: GroupRunner | None = None
        try:
            runner = self._process.build(self._spec, self._lease)
            runner.belongs_to = self._origin
            figures = [task.figures for task in runner.group.tasks]
            if self._control.report(figures, now_ms(), asynchronous=False):
                # Before the first records are read, because their timestamps are checked against this clock.
                self._process.look_at_clock(self._spec)
            # Loading the tables may take minutes, in which Spark may have repeated the task on another executor.
            runner.start(self._lease, lambda: not self._is_orphaned)
        # Not retried, because two workers that take the group from each other would fence each other forever.
        except GroupFenced:
            if runner is not None:
                runner.stop()
            raise
        except Unavailable as error:
            # Once per reason: during an outage this fails every second.
            if str(error) != self._logged:
                self._logged = str(error)
                name = self._spec.transactional_id(self._lease.group)
                log.warning("%s: %s: retrying", name, self._logged)
            if runner is not None:
                runner.stop()
                self._control.report([task.figures for task in runner.group.tasks], now_ms(), str(error))
            return None
        self._process.loops[self._group] = runner
        self._opened_at = self._process.monotonic()
        return runner

    def _hold(self, runner: GroupRunner) -> None:
        """Prolong the loop, keep its snapshots, and report."""
        runner.hold()
        trouble = runner.trouble
        if self._process.monotonic() >= self._next_put:
            self._trouble = self._keep(runner)
        self._report(runner, trouble or self._trouble or runner.keeper.trouble)
        look_again(self._spec.application)

    def _keep(self, runner: GroupRunner) -> str:
        """Write snapshots once per interval, and waiting rows in between; return what prevents it, or ""."""
        runner.hold(_SENDING_SECONDS)
        try:
            if self._process.monotonic() >= self._next_snapshot:
                runner.keeper.write(runner, ANSWER_SECONDS)
                self._next_snapshot = self._process.monotonic() + self._interval
            else:
                runner.keeper.put_waiting(runner)
        except GroupFenced:
            # Stopped here, because without records, the loop would not commit and would not notice it.
            self._process.stop(self._group)
            raise
        except LoopBusy as error:
            return str(error)
        except Unavailable as error:
            self._next_put = self._process.monotonic() + _STORE_SECONDS
            return str(error)
        return ""

    def _report(self, runner: GroupRunner, trouble: str) -> None:
        self._control.report(measured_figures(runner), runner.beat_ms, trouble)

    @property
    def _is_over(self) -> bool:
        """Whether the lease must end before its end offsets.

        The driver ends it. The lease of a restore also ends by itself once its state is committed under the checkpoint,
        unless it has end offsets, because then no other lease follows to read the rest.
        """
        runner = self._process.loops.get(self._group)
        if self._lease.restore and runner is not None:
            if not runner.group.is_taken_over(self._lease):
                return False
            if not self._has_ends and self._process.monotonic() - self._begun >= self._interval:
                return True
        return self._control.must_end

    @property
    def _has_ends(self) -> bool:
        """Whether the lease ends by itself once its tasks have read up to its end offsets."""
        return self._lease.until is not None and not self._lease.restore_only

    @property
    def _is_orphaned(self) -> bool:
        """Whether the executor has ended. Nothing else ends such a lease, because no driver knows of it any more."""
        executor = self._process.executor
        return executor != self._executor or executor == _INIT

    def _end(self, runner: GroupRunner) -> None:
        """Write the last snapshots of the lease, and end its loop unless other leases follow."""
        is_last, is_ended = self._lease.until is not None, self._control.must_end
        if runner.is_alive:
            try:
                runner.hold(ALL_SECONDS)
                # If other leases follow, all groups wait until this lease has ended, so a slow store only delays the
                # snapshot.
                runner.keeper.write(runner, ALL_SECONDS if is_last or self._lease.restore else ANSWER_SECONDS)
            except Unavailable as error:
                log.warning("%s: the last snapshot of this lease is missing: %s", runner.group.settings.name, error)
        if is_ended and (is_last or not self._control.is_followed):
            self._process.stop(self._group)
        # The next leases are planned by the next driver, whose start takes longer than a change of leases.
        elif is_ended and survives_executor():
            runner.outlive()
        else:
            runner.release()

    def _result(self, reports: Sequence[str] = (), *, is_done: bool) -> LeaseResult:
        return LeaseResult(self._lease.planned_at, self._has_ends and not is_done, reports)
