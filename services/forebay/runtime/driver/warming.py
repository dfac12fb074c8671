"""Starts a Python worker that imports the modules of a task group while Spark still plans the query."""

from __future__ import annotations

import logging
import threading

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forebay.runtime.launch.own_workers import own_workers
from forebay.runtime.spark.sealed import SealedSpec

log = logging.getLogger(__name__)

_FAILED = "PythonException"
"""Sign in Spark's message that the imports failed, and not the start as a whole."""


def warm_worker(session: SparkSession, application: str, sealed: SealedSpec) -> None:
    """Start a worker on this machine for the first lease, to which Spark then assigns this idle worker.

    A start is a chain of processes that wait for each other. The last of them, the worker, takes a second and a half to
    import its modules. If this fails, the query reports why, because it needs the same modules.
    """

    def work() -> None:
        try:
            context = session.sparkContext
            with own_workers(context, application):
                imports = context.parallelize([sealed], 1).map(_import)
                _ = imports._jrdd  # Only now is the environment of its workers fixed.
            imports.collect()
        except (PySparkException, Py4JError, OSError) as error:
            level = logging.WARNING if _FAILED in str(error) else logging.DEBUG
            log.log(level, "%s: no worker is warm, the start takes longer: %s", application, error)

    threading.Thread(target=work, name="warming", daemon=True).start()


def _import(sealed: SealedSpec) -> None:
    import pyarrow as pa  # noqa: PLC0415 (what the worker is to import, not the driver)
    import pyspark.sql.pandas.serializers  # noqa: F401, PLC0415

    from forebay.job import load_job  # noqa: PLC0415
    from forebay.runtime.spark import leases  # noqa: F401, PLC0415

    load_job(sealed.open().entry.job)
    pa.array([""])  # The first one looks for pandas, and imports it.
