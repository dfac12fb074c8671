"""The Spark session of a job: settings that exactness depends on, and lean ones for small batches."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from py4j.protocol import INPUT_CONVERTER
from pyspark.sql import SparkSession
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from forebay.runtime.kubernetes.executors import ExecutorPods
from forebay.runtime.launch.addresses import stack_option
from forebay.runtime.launch.heap import refused_heap
from forebay.runtime.launch.jvm import start_jvm, without_secrets
from forebay.runtime.launch.jvmlog import LOGGING
from forebay.runtime.launch.own_workers import JOBS
from forebay.runtime.launch.rpc_secret import ENCRYPTED
from forebay.runtime.launch.shared_classes import archive_options
from forebay.runtime.launch.worker_python import choose_python
from forebay.utils.private import UMASK

REQUIRED: Mapping[str, str] = {
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
}
"""Settings that must not be changed, because exactness depends on them."""

LEAN: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.pollingDelay": "20ms",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.task.maxFailures": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Defaults for a job whose JVM only coordinates. They can be changed."""

_RENAMING = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_COLLECTOR = "-XX:+UseSerialGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_START_HEAP = "-Xms96m"
"""By default, Java begins with 1/64 of the machine's memory and uses it before it collects (24 GB: 80 MB more)."""

_JVM_OPTIONS = (
    f"{_COLLECTOR} {_START_HEAP} -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=96m -Djdk.lang.Process.launchMechanism=VFORK"
)
"""Classes take 80 MB. With a smaller metaspace, the JVM would collect its heap twice in a start to unload some."""


class RefusedSetting(ValueError):
    """A Spark setting that would break the job's guarantees."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How Spark runs.

    Args:
        slots: tasks that run at the same time on this machine.
        memory: heap of the driver's JVM.
        conf: further Spark settings.
        executors: pods that run the tasks; None: they run on this machine.
        jobs: number of jobs that share this Spark. If there are several, each has one slot and its own Python workers.
    """

    slots: int = 1
    memory: str = "1g"
    conf: Mapping[str, str] = field(default_factory=dict)
    executors: ExecutorPods | None = None
    jobs: int = 1

    @property
    def master(self) -> str:
        """The master URL."""
        return f"local[{self.slots * self.jobs},4]"


def checkpoint_settings(checkpoint: str) -> dict[str, str]:
    """Return the settings for the file system of a checkpoint.

    Without Hadoop's native library, Spark's usual manager starts 20 processes (chmod, ls, readlink ...) for each file
    that it writes to a local file system, which takes 45 ms. The other manager takes 10 ms. It does not refuse a second
    writer of the same file, so a lock on the directory does.
    """
    if "://" in checkpoint:
        return {}
    private = {"spark.hadoop.fs.permissions.umask-mode": f"{UMASK:03o}"}
    return {"spark.sql.streaming.checkpointFileManagerClass": _RENAMING, **private}


def launch(options: SparkOptions) -> None:
    """Start the JVM in the background. `build_session` waits for it. Raises RefusedSetting.

    If the JVM can't be started, `build_session` raises the reason.
    """
    settings = _common_settings(options)

    def start() -> None:
        with suppress(Exception):
            _start(settings, options)

    _without_numpy()
    # Not a daemon, so that this process waits for it at its end. Otherwise a starting JVM would survive for a moment,
    # with its files.
    threading.Thread(target=start, name="launch").start()


def build_session(name: str, checkpoint: str, options: SparkOptions, java_options: str = "") -> SparkSession:
    """Start Spark for a job. Raises RefusedSetting.

    Args:
        java_options: options of the JVM, in place of those that use the archive of Spark's classes.
    """
    settings = {
        **checkpoint_settings(checkpoint),
        **_common_settings(options, java_options),
    }
    _start(settings, options)
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _common_settings(options: SparkOptions, java_options: str = "") -> dict[str, str]:
    """Return the settings that are common to all jobs, and choose the Python of Spark's processes."""
    for key, value in options.conf.items():
        if key in REQUIRED and value != REQUIRED[key]:
            raise RefusedSetting(f"{key}={value} is refused: exactly-once processing needs {key}={REQUIRED[key]}")
    if (
        options.conf.get("spark.task.maxFailures", "4").isdecimal()
        and int(options.conf.get("spark.task.maxFailures", "4")) < 4
    ):
        raise RefusedSetting("spark.task.maxFailures must be 4 or more: otherwise a few lost workers end the job")
    if reason := refused_heap(options.memory):
        raise RefusedSetting(reason)
    choose_python(os.environ)
    stack = stack_option(os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1"))
    archive = " ".join(f'"{option}"' for option in archive_options())
    java = f"{_JVM_OPTIONS} {stack} -Dlog4j2.configurationFile={LOGGING.as_uri()} {java_options or archive}".rstrip()
    return {
        "spark.master": options.master,
        "spark.driver.memory": options.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        JOBS: str(options.jobs),
        **LEAN,
        **(options.executors.settings() if options.executors is not None else ENCRYPTED),
        **options.conf,
        **java_settings(java, options.conf),
        **REQUIRED,
    }


def _start(settings: Mapping[str, str], options: SparkOptions) -> None:
    start_jvm(settings if options.executors is None else without_secrets(settings))


def _without_numpy() -> None:
    """Remove py4j's converters of NumPy values, because they import pandas, and a job has no such values."""
    INPUT_CONVERTER[:] = [
        converter
        for converter in INPUT_CONVERTER
        if not isinstance(converter, NumpyScalarConverter | NumpyArrayConverter)
    ]


def java_settings(java: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with the JVMs' options: the job's own, then the user's, because Java uses the last ones.

    Two collectors would end the JVM, so the user's collector replaces the job's.
    """
    settings = {}
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        options = conf.get(name, "")
        own = java.replace(_COLLECTOR, "").strip() if _ANY_COLLECTOR.search(options) else java
        settings[name] = f"{own} {options}".rstrip()
    return settings
