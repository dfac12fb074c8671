"""The Spark options of the command line."""

from __future__ import annotations

from typing import Any

import click

from forebay.runtime.driver.session import SparkOptions
from forebay.runtime.kubernetes.executors import ExecutorPods


def spark_options(options: dict[str, Any], jobs: int = 1) -> SparkOptions:
    """Return the options of a Spark that runs `jobs` jobs. Raises click.UsageError if options conflict."""
    if jobs > 1:
        return SparkOptions(1, options["memory"], options["conf"], jobs=jobs)
    return SparkOptions(options["slots"], options["memory"], options["conf"], _executors(options))


def _executors(options: dict[str, Any]) -> ExecutorPods | None:
    name, secret = options["executors"], options["spark_secret"]
    if name:
        return ExecutorPods.of_this_pod(name, options["driver_host"], secret)
    if secret is not None:
        raise click.UsageError("--spark-secret needs --executors")
    return None
