"""forebay executor: the process of an executor pod."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from forebay.cli.options import spark_secret_option
from forebay.cli.watched_files import watch_given_folder
from forebay.runtime.kubernetes.executors import EXECUTOR_SLOTS
from forebay.runtime.launch.addresses import host_of, stack_option
from forebay.runtime.launch.heap import refused_heap
from forebay.runtime.launch.jvmlog import LOGGING
from forebay.runtime.launch.rpc_secret import ENCRYPTED, executor_environment
from forebay.runtime.launch.shared_classes import archive_options, class_path
from forebay.runtime.process.survivors import LEAVE, allow_survivors, surviving_workers
from forebay.utils.flags import Flag

DRIVER_PORT = 7078
_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 5.0
_GRACE_SECONDS = 90.0
_AWAY_SECONDS = 60.0

OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""Packages that Spark opens in each JVM it starts (its JavaModuleOptions)."""

PROPERTIES = (
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
_JVM = ("-XX:+IgnoreUnrecognizedVMOptions", "--add-modules=jdk.incubator.vector")
_LEAN = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
)


def java_command(
    driver: str, application: str, address: str, pod: str, memory: str, settings: Mapping[str, str]
) -> list[str]:
    """Return the command of an executor's JVM.

    Args:
        driver: address of the driver.
        application: Spark's application id, the Deployment's name.
        address: this pod's.
        pod: this pod's name.
        memory: heap, such as 512m.
        settings: Spark settings that the JVM needs before it receives the driver's.
    """
    spark = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
    return [
        "java",
        f"-Xmx{memory}",
        *_JVM,
        *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
        *PROPERTIES,
        *_LEAN,
        stack_option(address),
        *archive_options(),
        f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        *(f"-D{name}={value}" for name, value in {"spark.driver.port": DRIVER_PORT, **settings}.items()),
        *("-cp", class_path(spark), _BACKEND),
        *("--driver-url", f"spark://CoarseGrainedScheduler@{host_of(driver)}:{DRIVER_PORT}"),
        # If Spark chose the id, its driver would need the right to change pods, to label this one.
        *("--executor-id", str(secrets.randbelow(2**31))),
        *("--hostname", host_of(address), "--bind-address", host_of(address)),
        *("--cores", str(EXECUTOR_SLOTS)),
        *("--app-id", application),
        *("--resourceProfileId", "0"),
        *("--podName", pod),
    ]


def answers(address: str) -> bool:
    """Return whether a driver listens at an address."""
    try:
        socket.create_connection((address, DRIVER_PORT), 2.0).close()
        return True
    except OSError:
        return False


def find_driver(name: str) -> str | None:
    """Return the address of the driver that listens; None if no driver does.

    While a driver is being replaced, the name resolves to both addresses. The address of a driver on a lost node
    remains as long as its pod exists.
    """
    try:
        infos = socket.getaddrinfo(name, DRIVER_PORT, type=socket.SOCK_STREAM)
    except OSError:
        return None
    addresses = dict.fromkeys(str(info[4][0]) for info in infos)
    return next(filter(answers, addresses), None)


class Supervisor:
    """Runs an executor's JVM, and starts another one whenever the driver was replaced.

    If the container ended with its driver, Kubernetes would restart it with growing delays.
    """

    def __init__(self, driver: str, command: Callable[[str], list[str]], secret: Path | None) -> None:
        self._driver, self._command, self._secret = driver, command, secret
        self._address = ""
        self._stopping = Flag()
        self._leaving = Flag()
        self._java: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Run JVMs, one after the other, until `stop`."""
        is_logged = False
        while not self._stopping.is_set():
            address = find_driver(self._driver)
            if address is not None:
                click.echo(f"joining the driver {self._driver} at {address}")
                is_logged = False
                self._leaving.clear()
                self._address = address
                self._java = subprocess.Popen(self._command(address), env={**os.environ, **self._proof()})
                if self._stopping.is_set():
                    # The signal came while the JVM was started, so `stop` saw the previous JVM or none.
                    self._decommission()
                code = self._wait_for(self._java)
                surviving_workers()  # also collects the exit codes of workers that have ended
                if self._leaving.is_set():
                    self._stay_away()
                elif not self._stopping.is_set():
                    click.echo(f"the executor ended with code {code}: waiting for the driver", err=True)
            elif not is_logged:
                click.echo(f"the driver {self._driver}:{DRIVER_PORT} does not answer yet: waiting", err=True)
                is_logged = True
            self._stopping.wait(_POLL_SECONDS)
        self._await_workers()

    def _wait_for(self, java: subprocess.Popen[bytes]) -> int:
        """Wait for the JVM, and return its exit code. End it if another driver answers instead of its own (lost node).

        The workers continue until the next driver's leases reach other workers.
        """
        while True:
            with suppress(subprocess.TimeoutExpired):
                return java.wait(_LOOK_SECONDS)
            if not answers(self._address) and find_driver(self._driver) not in (None, self._address):
                click.echo(
                    f"the driver at {self._address} does not answer, but another driver does: leaving for it", err=True
                )
                java.terminate()

    def stop(self) -> None:
        """Ask the JVM to finish its tasks and leave (decommission); end it after 90 s. Safe in a signal handler."""
        self._stopping.set()
        self._decommission()

    def leave(self) -> None:
        """Leave the driver, whose leases need other code, until it is replaced. Safe in a signal handler."""
        if not self._leaving.is_set():
            self._leaving.set()
            self._decommission()

    def _decommission(self) -> None:
        if self._java is not None and self._java.poll() is None:
            # Spark decommissions an executor at SIGPWR. SIGTERM would end its tasks at once.
            self._java.send_signal(signal.SIGPWR)
            threading.Thread(target=self._end, args=(self._java,), daemon=True).start()

    def _stay_away(self) -> None:
        """Wait until the driver is gone, but at most a minute, in case it was replaced unnoticed."""
        click.echo(
            f"this executor and the driver {self._driver} have different code: waiting for the next driver", err=True
        )
        deadline = time.monotonic() + _AWAY_SECONDS
        while answers(self._address) and time.monotonic() < deadline and not self._stopping.wait(_POLL_SECONDS):
            pass

    def _await_workers(self) -> None:
        """Wait for workers whose loops continue while the driver is replaced, for at most the pod's grace period."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while surviving_workers() and time.monotonic() < deadline:
            time.sleep(0.2)

    def _proof(self) -> dict[str, str]:
        """Return the environment variables of the secret, read again because each new driver reads it again."""
        return executor_environment(self._secret) if self._secret is not None else {}

    def _end(self, java: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _GRACE_SECONDS
        while java.poll() is None and time.monotonic() < deadline and answers(self._address):
            time.sleep(0.2)
        if java.poll() is None:
            java.terminate()


@click.command(
    epilog="""\b
Examples:
  forebay executor --driver demo-user-sessions --application demo-user-sessions-executor"""
)
@click.option("--driver", required=True, help="Name of the driver's service.")
@click.option("--application", required=True, help="Name of this pod's Deployment, which is Spark's application id.")
@click.option("--memory", default="512m", help="Heap of the JVM, such as 700m; 480m or more.")
@spark_secret_option
def executor(driver: str, application: str, memory: str, spark_secret: Path | None) -> None:
    """Run tasks for a job's driver (`forebay run --executors`), on Kubernetes, until SIGTERM.

    POD_NAME and POD_IP must be set. The executor waits for the driver. When the driver ends, it waits for the next one.
    """
    missing = [name for name in ("POD_NAME", "POD_IP") if not os.environ.get(name)]
    if missing:
        raise click.UsageError(f"{' and '.join(missing)} must be set, from the pod's metadata.name and status.podIP")
    if reason := refused_heap(memory):
        raise click.BadParameter(reason, param_hint="--memory")
    watch_given_folder()
    os.environ.setdefault("FOREBAY_PYTHON", sys.executable)
    allow_survivors(os.environ)
    settings = ENCRYPTED if spark_secret is not None else {}

    def command(address: str) -> list[str]:
        return java_command(address, application, os.environ["POD_IP"], os.environ["POD_NAME"], memory, settings)

    supervisor = Supervisor(driver, command, spark_secret)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: supervisor.stop())
    signal.signal(LEAVE, lambda _number, _frame: supervisor.leave())
    supervisor.run()
