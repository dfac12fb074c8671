"""The driver's JVM, started before Spark has its settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_ON_COMMAND_LINE = ("spark.driver.memory", "spark.driver.extraJavaOptions")


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM with what only its command line can tell it; Spark gets the other settings through the gateway.

    A command line shows a secret to everybody, and spark-submit refuses to start without executors on Kubernetes.
    """
    if SparkContext._gateway is None:
        own = {name: settings[name] for name in _ON_COMMAND_LINE}
        conf = SparkConf(loadDefaults=False).setAll(list(own.items()))
        SparkContext._ensure_initialized(gateway=launch_gateway(conf))
