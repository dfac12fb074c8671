"""The Spark data source format `forebay`, which reads and writes Kafka topics in any PySpark session."""

from __future__ import annotations

import importlib
import shutil
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from forebay.spark.backfill_run import backfill
    from forebay.spark.metrics import SparkMetrics

__all__ = ["SparkMetrics", "backfill", "register"]

_SETTINGS = (
    # Without it, Spark refuses every source that can push filters down.
    "spark.sql.python.filterPushdown.enabled",
    # Without it, Spark 4.3 refuses every column of type TIME.
    "spark.sql.timeType.enabled",
)
_MODULES = {"backfill": "forebay.spark.backfill_run", "SparkMetrics": "forebay.spark.metrics"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The package is also imported without Spark.
    return getattr(importlib.import_module(_MODULES[name]), name)


def register(spark: SparkSession) -> None:
    """Make the format `forebay` available to a session.

    Args:
        spark: The session. With Spark Connect, the Python environment of the server needs this package. No jars are
            needed.
    """
    # The package is also imported without Spark.
    from forebay.spark.source import ForebayDataSource  # noqa: PLC0415

    context = getattr(spark, "sparkContext", None)
    if context is None:
        # A session of Spark Connect has no accumulators for SparkMetrics.
        spark.dataSource.register(ForebayDataSource)
    else:
        _warn_of_other_python(context)
        from forebay.spark.metrics import session_sums  # noqa: PLC0415

        # Spark pickles a class by value if no module contains it. Workers therefore receive the class together with the
        # session's accumulator.
        spark.dataSource.register(type("SessionDataSource", (ForebayDataSource,), {"measures": session_sums(spark)}))
    for name in _SETTINGS:
        # A declarative pipeline sets them in its specification file. Spark does not allow its code to set them.
        if spark.conf.get(name, "false") != "true":
            spark.conf.set(name, "true")


def _warn_of_other_python(context: SparkContext) -> None:
    python = context.pythonExec
    if shutil.which(python) != sys.executable and str(context.master).startswith("local"):
        warnings.warn(
            f"Spark's workers run {python}, which may lack this environment's packages: set the environment variable "
            f"PYSPARK_PYTHON={sys.executable} before the session is created",
            stacklevel=3,
        )
