"""An archive of the classes that Spark loads (the JVM's class data sharing): with it, Spark starts in half the time.

    python -m forebay.runtime.class_archive

writes it into the Python environment, about 150 MB. The JVM checks that it fits its own build and class path, and does
without it where it doesn't.
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
from pyspark.sql import DataFrame, Row
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.runtime.session import SparkOptions, archive_file, build_session

_SECONDS = 300.0


class _Stream(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"at": 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
        yield 0, "row"


class _Source(DataSource):
    @classmethod
    def name(cls) -> str:
        return "forebay-class-archive"

    def schema(self) -> str:
        return "task int, batch string"

    def streamReader(self, schema: Any) -> _Stream:
        return _Stream()


class _Count(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._rows = handle.getValueState("rows", "count long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        found = self._rows.get()
        count = sum(1 for _ in rows) + (0 if found is None else found[0])
        self._rows.update((count,))
        yield Row(task=key[0], count=count)

    def close(self) -> None:
        pass


def build(file: Path) -> None:
    """Run a query of a job's shape, and keep the classes it took. Raises OSError, subprocess.SubprocessError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    command = [sys.executable, "-m", "forebay.runtime.class_archive", "--train", str(new)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if not new.exists():
            raise OSError(f"Java wrote no archive: {(done.stderr or done.stdout).strip()[-500:]}")
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _train(file: str) -> None:
    """Run the query, and end the JVM in good order: it writes the archive then."""
    with tempfile.TemporaryDirectory(prefix="forebay-class-archive-") as place:
        session = build_session("class-archive", 1, place, SparkOptions(), f'"-XX:ArchiveClassesAtExit={file}"')
        session.dataSource.register(_Source)
        query = (
            session.readStream.format(_Source.name())
            .load()
            .groupBy("task")
            .transformWithState(_Count(), "task int, count long", "Append", "None")
            .writeStream.foreachBatch(_collect)
            .option("checkpointLocation", place)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        gateway: Any = session.sparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_SECONDS)


def _collect(frame: DataFrame, _batch: int) -> None:
    frame.collect()


def main() -> None:
    """Write the archive, unless it is there."""
    match sys.argv[1:]:
        case ["--train", new]:
            _train(new)
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
            sys.exit("usage: python -m forebay.runtime.class_archive")


if __name__ == "__main__":
    main()
