"""An archive of the classes that Spark loads (the JVM's class data sharing): with it, Spark starts in half the time.

    python -m forebay.runtime.driver.class_archive

writes it into the Python environment, about 150 MB. The JVM checks that it fits its own build and class path. If it
does not fit, the JVM starts without it. With `--check` the command only runs the query, which fails if a class is
missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from forebay.runtime.driver.session import SparkOptions, build_session
from forebay.runtime.launch.shared_classes import archive_file
from forebay.runtime.spark.source import SCHEMA

_SECONDS = 300.0
_BATCHES = 3


class _Stream(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"at": min(start["at"] + 1, _BATCHES)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(start["at"], end["at"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield ("result",)


class _Source(DataSource):
    @classmethod
    def name(cls) -> str:
        return "forebay-class-archive"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> _Stream:
        return _Stream()


def build(file: Path) -> None:
    """Run a query like that of a job, and archive its classes. Raises OSError, subprocess.SubprocessError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    command = [sys.executable, "-m", "forebay.runtime.driver.class_archive", "--train", str(new)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        # Java writes an archive at any exit, also if the query has failed half way. Such an archive lacks classes.
        if done.returncode or not new.exists():
            raise OSError(f"Java did not complete the archive: {_without_java(done.stderr or done.stdout)[-500:]}")
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _without_java(text: str) -> str:
    """Return the output without Java's remarks on single classes."""
    return "\n".join(line for line in text.splitlines() if "[cds]" not in line).strip()


def _train(file: str) -> None:
    """Run the query, and let the JVM exit normally, so that it writes the archive to `file`, if that is not ""."""
    java_options = f'"-XX:ArchiveClassesAtExit={file}"' if file else ""
    with tempfile.TemporaryDirectory(prefix="forebay-class-archive-") as place:
        checkpoint = str(Path(place, "checkpoint"))
        session = build_session("class-archive", checkpoint, SparkOptions(), java_options)
        session.sparkContext.parallelize([0], 1).map(str).collect()  # as a job's worker is warmed
        _load_kubernetes(session.sparkContext._jvm)
        session.dataSource.register(_Source)
        query = (
            session.readStream.format(_Source.name())
            .load()
            .writeStream.foreachBatch(_collect)
            .option("checkpointLocation", checkpoint)
            .start()
        )
        query.processAllAvailable()
        query.stop()
        gateway: Any = session.sparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_SECONDS)


def _load_kubernetes(jvm: Any) -> None:
    """Load the classes with which a driver follows its executors' pods, by a request that no server answers."""
    for name, value in (("master", "https://127.0.0.1:1"), ("request.retry.backoffLimit", "0")):
        jvm.java.lang.System.setProperty(f"kubernetes.{name}", value)
    client = jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()
    try:
        client.pods().inNamespace("any").list()
    except Py4JJavaError as error:
        if "KubernetesClientException" not in error.java_exception.getClass().getName():
            raise
    finally:
        client.close()


def _collect(frame: DataFrame, _batch: int) -> None:
    frame.collect()


def main() -> None:
    """Write the archive, unless it exists."""
    match sys.argv[1:]:
        case ["--train", new]:
            _train(new)
        case ["--check"]:
            _train("")
        case []:
            file = archive_file()
            if file.exists():
                return
            print(f"== archiving the classes of Spark {pyspark.__version__}: it starts faster from now on ({file})")
            try:
                build(file)
            except (OSError, subprocess.SubprocessError) as error:
                sys.exit(f"error: {error}")
        case _:
            sys.exit("usage: python -m forebay.runtime.driver.class_archive [--check]")


if __name__ == "__main__":
    main()
