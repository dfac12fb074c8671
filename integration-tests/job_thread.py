"""A job on a thread of the test's own process, so that a test can reach its query."""

from __future__ import annotations

import json
import threading
from typing import Any

from bench import Bench

from forebay.runtime.driver.app import JobApplication
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.plan import Plan
from forebay.runtime.driver.session import SparkOptions
from forebay.runtime.task.pacing import Limits


class JobThread:
    """A running job.

    Args:
        interval_ms: Time between two snapshots of a task.
        slots: Number of Spark's slots, which is also the number of task groups.
    """

    def __init__(self, bench: Bench, interval_ms: int, slots: int = 1) -> None:
        rules = bench.rules
        options = JobOptions(
            service="user-sessions",
            application=bench.application,
            kafka=bench.settings,
            plan=Plan(str(bench.checkpoint)),
            spark=SparkOptions(slots=slots),
            logic={"idle_timeout_ms": str(rules.idle_timeout_ms)},
            engine={
                "limits": Limits(checkpoint_interval_ms=interval_ms),
                "dedupe_retention_ms": rules.dedupe_retention_ms,
            },
        )
        self.application = JobApplication(options)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def progress(self) -> dict[str, Any] | None:
        """Return the newest progress of its query, if there is one."""
        runner = self.application._runner
        query = runner.query if runner is not None else None
        newest = query.lastProgress if query is not None else None
        return None if newest is None else json.loads(newest.json)

    def rebalance(self) -> None:
        """Make the driver end the leases and plan others."""
        assert self.application._runner is not None
        self.application._runner.rebalance()

    def stop(self) -> None:
        """End the job."""
        self.application.stop()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the job does not end"
        assert self.failure is None

    def _run(self) -> None:
        try:
            self.application.run()
        except BaseException as error:
            self.failure = error
