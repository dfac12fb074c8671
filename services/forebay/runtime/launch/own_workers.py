"""Python workers of one job alone, where several share a Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

JOBS = "spark.forebay.jobs"
"""The setting that says how many jobs share a Spark."""

VARIABLE = "FOREBAY_JOB"
_AS_READERS = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}
"""What Spark adds to the environment of a data source's readers, which hold the leases, but not to that of an RDD."""
_LOCK = threading.Lock()


@contextmanager
def own_workers(context: SparkContext, application: str) -> Iterator[None]:
    """Have the Python functions made in the block run in the workers of the job's leases, which no other job gets.

    Spark hands an idle worker to whichever task asks next, among those of one environment (PythonWorkerFactory, by
    PythonWorkersKey), and ends that worker with a task that fails. Another job's loop must not be in it, so each has an
    environment of its own. A worker that was warmed in another environment would never get a lease.
    """
    added = dict(_AS_READERS)
    if context.getConf().get(JOBS, "1") != "1":
        added[VARIABLE] = application
    with _LOCK:
        context.environment.update(added)
        try:
            yield
        finally:
            for name in added:
                del context.environment[name]


def is_local(master: str) -> bool:
    """Return whether tasks run in the driver's own JVM: its workers are children of this machine, started on demand."""
    return master.startswith("local[")
