"""A job whose task groups run in several executors, which are processes that tests can kill or decommission."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyspark
from job_process import JobProcess

from forebay.runtime.kubernetes.executors import EXECUTOR_LOSS

_BACKEND = "CoarseGrainedExecutorBackend"
_SIGNAL_SECONDS = 0.5
_CHANGE_SECONDS = 10.0
"""Interval of lease changes until the executor leaves. The first may precede Spark's handling of the signal."""
_CONNECTED = {"spark.authenticate": "false", "spark.network.crypto.enabled": "false"}
"""Settings that disable authentication, whose secret would have to be on the command line of the driver's JVM."""


class ExecutorJob(JobProcess):
    """`forebay run` with executors of Spark's local cluster, which replaces each executor that ends.

    Args:
        arguments: Arguments of the command, without slots and groups.
        folder: Folder for the logs of driver and executors.
        executors: Number of executors, which have two slots each.
        groups: Number of task groups.
        log: Name of the driver's log.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        environment: dict[str, str],
        executors: int,
        groups: int,
        log: str = "job.log",
    ) -> None:
        conf = {"spark.master": f"local-cluster[{executors},2,640]", "spark.executor.memory": "512m"}
        given = [item for name, value in {**conf, **EXECUTOR_LOSS, **_CONNECTED}.items() for item in _conf(name, value)]
        count = ["--slots", str(groups), "--groups", str(groups)]
        super().__init__(
            [*arguments, *count, *given], folder / log, {**environment, "SPARK_HOME": str(_spark_home(folder))}
        )
        self._count = executors

    def jvm(self) -> psutil.Process:
        """Return the driver's JVM."""
        (result,) = [p for p in self.process.children() if "java" in p.name()]
        return result

    def executors(self) -> list[psutil.Process]:
        """Return the executors' JVMs."""
        executors = []
        for process in self.process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "java" in process.name() and any(_BACKEND in word for word in process.cmdline()):
                    executors.append(process)
        return executors

    def workers_of(self, executor: psutil.Process) -> set[psutil.Process]:
        """Return the Python processes of an executor."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return set(executor.children(recursive=True))
        return set()

    def until_complete(self) -> None:
        """Wait until all executors run."""
        self.until(lambda: len(self.executors()) == self._count, "all executors run")

    def kill_executor(self, executor: psutil.Process) -> None:
        """Kill an executor with its workers, and wait until another one runs. The workers of the others continue."""
        others = [process for process in self.executors() if process != executor]
        workers = set().union(*map(self.workers_of, others))
        for process in [executor, *self.workers_of(executor)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._until_replaced(executor)
        ended = [worker for worker in workers if not worker.is_running()]
        assert not ended, f"{ended} ended with another executor"

    def decommission(self, executor: psutil.Process, change_leases: Callable[[], None]) -> None:
        """Decommission an executor like a pod that is deleted, and wait until another one runs.

        Args:
            executor: The executor.
            change_leases: Ends the leases, so that the executor gets no new leases.
        """
        # SIGTERM has no effect: in Spark's local cluster, executors inherit from the driver's JVM that it is ignored.
        executor.send_signal(signal.SIGPWR)
        next_change = time.monotonic() + _SIGNAL_SECONDS

        def has_ended() -> bool:
            nonlocal next_change
            if time.monotonic() >= next_change:
                change_leases()
                next_change += _CHANGE_SECONDS
            return executor not in self.executors()

        self.until(has_ended, "the executor has left")
        self.until_complete()

    def _until_replaced(self, executor: psutil.Process) -> None:
        self.until(lambda: executor not in self.executors(), "the executor has ended")
        self.until_complete()


def _conf(name: str, value: str) -> tuple[str, str]:
    return "--conf", f"{name}={value}"


def _spark_home(folder: Path) -> Path:
    """Return a Spark installation in which executors can write their logs."""
    home = folder / "spark"
    home.mkdir(exist_ok=True)
    for entry in os.scandir(Path(pyspark.__file__).parent):
        link = home / entry.name
        if not link.is_symlink():
            link.symlink_to(entry.path)
    return home
