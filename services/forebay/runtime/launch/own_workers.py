"""Separate Python workers for each job, if several jobs share a Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

JOBS = "spark.forebay.jobs"
"""The setting with the number of jobs that share a Spark."""

VARIABLE = "FOREBAY_JOB"
_AS_READERS = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}
"""Variables that Spark sets for a data source's readers, which hold the leases, but not for an RDD."""
_LOCK = threading.Lock()


@contextmanager
def own_workers(context: SparkContext, application: str) -> Iterator[None]:
    """Let Python functions that are created in the block run in the workers of this job's leases, and of no other job.

    Spark assigns an idle worker to the next task with the same environment (PythonWorkerFactory, by PythonWorkersKey),
    and ends the worker with a task that fails. It must not contain another job's loop, so each job has its own
    environment. A worker that was started in advance in another environment would never get a lease.
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
    """Return whether tasks run in the driver's own JVM, which starts workers on this machine on demand."""
    return master.startswith("local[")
