"""Forebay's topics as Spark DataFrames: the format `forebay` for any PySpark session."""

from __future__ import annotations

import shutil
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forebay.spark.backfill_run import backfill

__all__ = ["backfill", "register"]


def __getattr__(name: str) -> Any:
    if name != "backfill":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forebay.spark.backfill_run import backfill  # noqa: PLC0415 (the package is also imported without Spark)

    return backfill


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
    from forebay.spark.source import ForebayDataSource  # noqa: PLC0415 (the package is also imported without Spark)

    spark.dataSource.register(ForebayDataSource)
    # Without it, Spark refuses every source that can push filters down.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
