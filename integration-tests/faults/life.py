"""The life of a job under faults, in which it is started, fed, watched, and restarted whenever it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from executor_job import ExecutorJob
from job_process import PYTHON_PATH, JobProcess
from service_bench import PARTITIONS, ServiceBench

from faults.broker import FaultyPlatform
from faults.disk import SmallDisk
from faults.feeder import GRACE_MS, Feeder
from faults.plan import CHECKPOINT_INTERVAL_MS, ON_A_DISK, TRANSACTION_TIMEOUT_MS, Kind, Plan
from faults.points import VARIABLE, Armory
from faults.watch import OutputWatch, PositionSampler
from forebay.runtime.process.survivors import allow_survivors

HERE = Path(__file__).resolve().parent
COMMIT = 100
"""Maximum number of records of a commit. It is small, so that there are many commits."""

LOGIC = {
    "windowed-metrics": {"emit_results": "both"},
    "price-join": {"grace_ms": str(GRACE_MS), "history_retention_ms": "3600000"},
}
"""Settings of the services' logic."""

_STARTS_WITHOUT_OUTPUT = 8
_POLL_SECONDS = 0.03
_CHANGE_SECONDS = 3.0


class NotRecovered(AssertionError):
    """The job did not recover by itself."""


class Life:
    """A service's job with separate topics, application id and checkpoint.

    Args:
        folder: Folder for logs and the checkpoint. It must not exist yet.
    """

    def __init__(self, platform: FaultyPlatform, plan: Plan, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.platform, self.plan, self.folder = platform, plan, folder
        self.disk = (
            SmallDisk(folder / "disk.img", folder / "disk", throttled=plan.has(Kind.DISK_SLOW))
            if plan.has(*ON_A_DISK)
            else None
        )
        try:
            self._begin()
        except BaseException:
            if self.disk is not None:
                self.disk.close()
            raise

    def _begin(self) -> None:
        platform, plan, folder = self.platform, self.plan, self.folder
        name = f"faults-{plan.seed}"
        self.bench = ServiceBench(platform, plan.service, name, folder, self._arguments())
        self.bench.environment = {
            **self.bench.environment,
            VARIABLE: str(folder / "armory"),
            "PYTHONPATH": os.pathsep.join([str(HERE / "hook"), str(HERE.parent), PYTHON_PATH]),
        }
        if plan.seed % 2:
            # Let workers survive their driver and JVM, as in executor pods, where they continue until the next start.
            allow_survivors(self.bench.environment)
        if self.disk is not None:
            self.bench.checkpoint = self.disk.place / "checkpoint"
        self.armory = Armory(folder / "armory")
        (folder / "armory").mkdir()
        self._starts = 0
        self._received = 0
        self._next_change = 0.0
        self.outputs = OutputWatch(self.bench)
        self.positions = PositionSampler(self.bench)
        self.feeder = Feeder(self.bench, plan.seed, self.positions.ends)
        self.job = self.start()

    @property
    def groups(self) -> int:
        """The number of task groups. Several groups may change their workers with their leases."""
        return 1 if self.plan.seed % 3 and self.plan.executors == 1 else 3

    @property
    def logic(self) -> dict[str, str]:
        """The settings of the service's logic."""
        return LOGIC.get(self.plan.service, {})

    def _arguments(self) -> tuple[str, ...]:
        timeout = TRANSACTION_TIMEOUT_MS if self.plan.has(Kind.TRANSACTION_TIMEOUT) else 300_000
        return (
            *(item for name, value in self.logic.items() for item in ("--set", f"{name}={value}")),
            *("--bootstrap-servers", self.platform.proxied_servers),
            *("--max-records-per-commit", str(COMMIT), "--checkpoint-interval-ms", str(CHECKPOINT_INTERVAL_MS)),
            *("--transaction-timeout-ms", str(timeout)),
            *("--slots", str(self.groups)),
        )

    def start(self, log: str = "") -> JobProcess:
        """Start a driver on the checkpoint, with executors if the plan has them."""
        return self.bench.job(log=log, start=JobProcess if self.plan.executors == 1 else self._start_executors)

    def executor_job(self) -> ExecutorJob:
        """Wait until all executors of the job run, and return the job. Raises NotRecovered."""

        def is_complete() -> bool:
            return isinstance(self.job, ExecutorJob) and len(self.job.executors()) == self.plan.executors

        self.until(is_complete, "all executors run")
        assert isinstance(self.job, ExecutorJob)
        return self.job

    def _start_executors(
        self, arguments: list[str], log: Path, environment: dict[str, str], _command: str
    ) -> ExecutorJob:
        return ExecutorJob(arguments, log.parent, environment, self.plan.executors, self.groups, log.name)

    def tend(self) -> None:
        """Restart the job if it has ended, as Kubernetes would. Raises NotRecovered if it ends again and again."""
        if self.positions.failure is not None:
            raise self.positions.failure
        if self.job.is_running():
            return
        if self.outputs.received > self._received:
            self._starts, self._received = 0, self.outputs.received
        self._starts += 1
        if self._starts > _STARTS_WITHOUT_OUTPUT:
            raise NotRecovered(f"the job was started {self._starts - 1} times without an output: {self.last_words()}")
        self.job = self.start()

    def last_words(self) -> str:
        """Return the end of the job's log."""
        return self.job.text()[-1_500:]

    def until(
        self, check: Callable[[], bool], description: str, seconds: float = 900.0, pause: float = _POLL_SECONDS
    ) -> None:
        """Wait for a condition, and restart the job whenever it ends. Raises NotRecovered."""
        deadline = time.monotonic() + seconds
        while not check():
            self.tend()
            if time.monotonic() > deadline:
                raise NotRecovered(f"not within {seconds:.0f} s: {description}: {self.last_words()}")
            time.sleep(pause)

    def rest(self, seconds: float) -> None:
        """Wait some seconds, and restart the job whenever it ends."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, "time passes", seconds + 60)

    def until_commits(self, count: int) -> None:
        """Wait for this number of further commits of tasks."""
        wanted = self.positions.commits() + count
        self.until(lambda: self.positions.commits() >= wanted, f"{count} commits more")

    def change_leases(self) -> None:
        """End the job's leases, at most every few seconds. If the broker is unavailable, a later call retries."""
        if time.monotonic() >= self._next_change:
            self._next_change = time.monotonic() + _CHANGE_SECONDS
            with suppress(KafkaException):
                self.bench.change_leases(self.armory.shift())

    def purge(self) -> None:
        """Delete the used records of the repartition topics."""
        names = {topic.name for topic in self.bench.service.repartitions(self.bench.application, PARTITIONS)}
        used = [TopicPartition(*place, end) for place, end in self.positions.ends().items() if place[0] in names]
        # Keep a reference to the client: it is destroyed with the last one, and its responses never arrive.
        admin = AdminClient(self.bench.settings.admin())
        for future in admin.delete_records(used).values():
            future.result(30)

    def finish(self) -> None:
        """End the job, and process the waiting records.

        Feed the job until it has ended. An idle job would close windows by the clock, which the replay does not know.
        """
        self.armory.disarm()
        self.armory.hurry()
        while self.job.terminate() != 0:
            # Restart the job first: the log of the ended one already contains the text for which `until` waits.
            self.tend()
            # Workers that survived the previous driver have outputs while this one starts, and can't be ended yet.
            self.until(lambda: "starting Spark" in self.job.text(), "the job is up")
        self.feeder.close()
        self.bench.drain()
        assert self.bench.has_read_everything(), "the job drained its input and left some"

    def close(self) -> None:
        """Close everything."""
        self.feeder.close()
        self.bench.close()
        self.outputs.close()
        self.positions.close()
        if self.disk is not None:
            self.disk.close()
