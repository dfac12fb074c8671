"""Forebay's topics as Spark DataFrames: the format `forebay` for any PySpark session."""

from __future__ import annotations

import importlib
import shutil
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forebay.spark.backfill_run import backfill
    from forebay.spark.metrics import SparkMetrics

__all__ = ["SparkMetrics", "backfill", "register"]

_MODULES = {"backfill": "forebay.spark.backfill_run", "SparkMetrics": "forebay.spark.metrics"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The package is also imported without Spark.
    return getattr(importlib.import_module(_MODULES[name]), name)


def register(spark: SparkSession) -> None:
    """Make the format `forebay` available to a session.

    Args:
        spark: The session. It needs no jars.
    """
    python = spark.sparkContext.pythonExec
    if shutil.which(python) != sys.executable and str(spark.sparkContext.master).startswith("local"):
        warnings.warn(
            f"Spark's workers run {python}, which may lack this environment's packages: set the environment variable "
            f"PYSPARK_PYTHON={sys.executable} before the session is created",
            stacklevel=2,
        )
    # The package is also imported without Spark.
    from forebay.spark.metrics import session_sums  # noqa: PLC0415
    from forebay.spark.source import ForebayDataSource  # noqa: PLC0415

    # Spark sends a class that no module has to its workers by value, with the session's sums.
    spark.dataSource.register(type("SessionDataSource", (ForebayDataSource,), {"measures": session_sums(spark)}))
    # Without it, Spark refuses every source that can push filters down.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    # Without it, Spark 4.3 refuses every column of type TIME.
    spark.conf.set("spark.sql.timeType.enabled", "true")
