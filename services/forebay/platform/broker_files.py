"""The broker's directory, which is formatted at the first start and recovered after a crash."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from forebay.platform import process
from forebay.platform.broker_settings import LOG4J2, Listeners, recovery_properties, server_properties
from forebay.platform.crash_recovery import fence_crashed_broker, has_crashed
from forebay.platform.errors import PlatformError
from forebay.platform.progress import Progress

_FORMAT_SECONDS = 120
# A small heap, no parallel collector and C1 only: the broker shares two cores with Spark. With C2, it used 4 s of CPU
# instead of 2.4 until it was ready, 19.6 instead of 12 for its first 2,500 transactions, and 1.5 times as much for bulk
# loads, also after 600,000 records.
_JVM = (
    *("-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"),
)

_NO_SHUTDOWN = ("-Xrs",)
"""Makes SIGTERM end the broker at once, as SIGKILL does.

A controlled shutdown first moves the leaderships away, but there is no other broker to move them to. Transactions
that are committed meanwhile are answered as committed, but their markers are left out: the partitions without a leader
count as deleted (KAFKA-20734, seen with 4.3.0 in one of a few stops under load). A job's commit was hidden then, what
it had read was processed again, and the next commit showed both. After a crash the markers are written
(`crash_recovery`).
"""


def broker_arguments(
    java: Path,
    directory: Path,
    logs: Path,
    listeners: Listeners,
    cluster_id: str,
    progress: Progress,
    further: Mapping[str, str] | None = None,
) -> list[str]:
    """Write the settings, and format or recover the data. Return java's arguments.

    Args:
        directory: directory of settings and data, which is created if necessary.
        logs: directory for the output of formatting and recovery.
        cluster_id: id with which the data is formatted at the first start.
        further: settings that override ours.

    Raises:
        PlatformError: the broker's jars are missing, or its data can't be formatted or recovered.
    """
    from forebay.platform.artifacts import kafka_classpath  # noqa: PLC0415 (jgo is an extra)

    classpath = os.pathsep.join(str(jar) for jar in kafka_classpath(progress))
    data, settings, log4j2 = directory / "data", directory / "server.properties", directory / "log4j2.properties"
    data.mkdir(parents=True, exist_ok=True)
    log4j2.write_text(LOG4J2, encoding="utf-8")
    settings.write_text(server_properties(listeners, data, further or {}), encoding="utf-8")
    common = [*_JVM, f"-Dlog4j2.configurationFile={log4j2}", "-cp", classpath]
    if not (data / "meta.properties").exists():
        storage = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "--config", str(settings)]
        _format(java, [*common, *storage], logs / "broker.log")
    elif has_crashed(data):
        progress.step("recovering what the broker's last process left")
        alone = directory / "recovery.properties"
        alone.write_text(recovery_properties(listeners.controller_port, data), encoding="utf-8")
        fence_crashed_broker(java, [*common, "kafka.Kafka", str(alone)], logs / "recovery.log", data)
    return [*common, *_NO_SHUTDOWN, "kafka.Kafka", str(settings)]


def _format(java: Path, arguments: Sequence[str], log: Path) -> None:
    with log.open("ab") as output:
        formatting = subprocess.run(
            [java, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=_FORMAT_SECONDS,
            check=False,
        )
    if formatting.returncode != 0:
        raise PlatformError(
            f"the broker's data directory can't be formatted: the reason is at the end of {log}.",
            process.log_tail(log),
        )
