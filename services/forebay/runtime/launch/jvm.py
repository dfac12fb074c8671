"""The driver's JVM, which starts before Spark has its settings, and ignores signals that are meant for the driver."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from forebay.runtime.launch.forking import start_fork_server
from forebay.runtime.launch.jvmlog import filtered_stderr

_STARTING = threading.Lock()
_ON_COMMAND_LINE = ("spark.driver.memory", "spark.driver.extraJavaOptions")


class _Apart(dict[str, Any]):
    """The arguments of the JVM's process: Spark's `preexec_fn` is extended so that the process ignores SIGTERM.

    Java keeps ignoring a signal that was ignored when it started.
    """

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, _ignoring_sigterm(value) if name == "preexec_fn" else value)


def _ignoring_sigterm(prepare: Callable[[], None]) -> Callable[[], None]:
    def start_prepared() -> None:
        prepare()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    return start_prepared


def start_jvm(given: Mapping[str, str]) -> None:
    """Start the JVM with settings on its command line. Spark gets all settings through the gateway.

    The JVM has its own process group and ignores SIGTERM. A SIGTERM that is sent to all of the driver's processes (by
    systemd, supervisors, `timeout`) would shut Spark down before the driver has ended its leases. The JVM ends with
    the driver, whose end closes its stdin.
    """
    with _STARTING:
        if SparkContext._gateway is None:
            start_fork_server(os.environ)
            conf = SparkConf(loadDefaults=False).setAll(list(given.items()))
            with filtered_stderr() as stderr:
                gateway = launch_gateway(conf, _Apart(process_group=0, stderr=stderr))
            SparkContext._ensure_initialized(gateway=gateway)


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that must be on the JVM's command line.

    All users can read a secret on a command line, and spark-submit refuses to start without executors on Kubernetes.
    """
    return {name: settings[name] for name in _ON_COMMAND_LINE}
