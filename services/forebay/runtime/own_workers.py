"""Python workers of one job alone, where several share a Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

VARIABLE = "FOREBAY_JOB"
_LOCK = threading.Lock()


@contextmanager
def own_workers(context: SparkContext, application: str) -> Iterator[None]:
    """Have the Python functions made in the block run in workers that no other job of this Spark gets.

    Spark hands an idle worker to whichever task asks next, among those of one environment (PythonWorkerFactory, by
    PythonWorkersKey). A job's next lease must find its loop, so each job has an environment of its own.
    """
    with _LOCK:
        context.environment[VARIABLE] = application
        try:
            yield
        finally:
            del context.environment[VARIABLE]
