"""Python workers of one job alone, where several share a Spark."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

VARIABLE = "FOREBAY_JOB"
_LOCK = threading.Lock()
_SLOTS = re.compile(r"local\[(\d+),")


@contextmanager
def own_workers(context: SparkContext, application: str) -> Iterator[None]:
    """Have the Python functions made in the block run in workers that no other job of this Spark gets.

    Spark hands an idle worker to whichever task asks next, among those of one environment (PythonWorkerFactory, by
    PythonWorkersKey). A job's next lease must find its loop, so each job has an environment of its own. A job that is
    alone needs none: reading its leases and holding them take turns on one worker.
    """
    if not is_shared(context.master or ""):
        yield
        return
    with _LOCK:
        context.environment[VARIABLE] = application
        try:
            yield
        finally:
            del context.environment[VARIABLE]


def is_local(master: str) -> bool:
    """Tell whether tasks run in the driver's own JVM: its workers are children of this machine, started on demand."""
    return _SLOTS.match(master) is not None


def is_shared(master: str) -> bool:
    """Tell whether several jobs share the Spark of this master URL (SparkOptions.master): each has a slot."""
    found = _SLOTS.match(master)
    return found is not None and int(found[1]) > 1
