"""CPU time per event of a StatefulProcessor class in PySpark and in Forebay.

In PySpark, it runs with RocksDB, a source of files and the sink noop. In Forebay, it runs in a task's loop in memory.
Neither side uses Kafka. Each side runs with N and with 2N events. The difference does not contain the time of the
start.

    python benchmarks/transform_with_state.py spark 100000
    python benchmarks/transform_with_state.py forebay 100000
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.records import Record
from forebay.serde.json_format import json_of
from forebay.stateful import stateful_job
from forebay.testing import TestDriver

KEYS = 10_000
BATCH = 10_000
"""Number of events in a micro-batch, and in a commit."""
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Click(Record):
    """An event."""

    user: str
    page: str


class Count(Record):
    """A result."""

    user: str
    count: int


class Counter(StatefulProcessor):
    """Class with four state calls per event, which are get and update of a value and of a map's entry."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n bigint")
        self.by_page = handle.getMapState("byPage", "page string", "n bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            (count,) = self.count.get() or (0,)
            self.count.update((count + 1,))
            (visits,) = self.by_page.getValue((row.page,)) or (0,)
            self.by_page.updateValue((row.page,), (visits + 1,))
            yield Row(user=key[0], count=count + 1)


def clicks(number: int) -> list[tuple[str, str]]:
    """Return events, which consist of a user and a page."""
    draw = random.Random(1)
    return [(f"user-{draw.randrange(KEYS)}", f"page-{draw.randrange(3)}") for _ in range(number)]


def run_spark(number: int) -> None:
    """Process the events in a streaming query, with a file for each micro-batch."""
    with tempfile.TemporaryDirectory() as folder:
        events = clicks(number)
        for begin in range(0, number, BATCH):
            lines = [f'{{"user":"{user}","page":"{page}"}}' for user, page in events[begin : begin + BATCH]]
            (Path(folder) / f"{begin:09}.json").write_text("\n".join(lines))
        builder: Any = SparkSession.builder
        spark = (
            builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.streaming.stateStore.providerClass", PROVIDER)
            .getOrCreate()
        )
        source = spark.readStream.schema("user string, page string").option("maxFilesPerTrigger", 1).json(folder)
        results = source.groupBy("user").transformWithState(Counter(), "user string, count bigint", "Update", "None")
        writer = results.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
        writer.option("checkpointLocation", f"{folder}-checkpoint").start().awaitTermination()
        gateway: Any = spark.sparkContext._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def run_forebay(number: int) -> None:
    """Process the events with the loop of a job, on topics in memory."""
    job = stateful_job(
        Counter, input_topic="clicks", input=json_of(Click), output_topic="counts", output=json_of(Count), name="bench"
    )
    driver = TestDriver(job, raise_errors=True)
    events = [(user, Click(user, page)) for user, page in clicks(number)]
    for begin in range(0, number, BATCH):
        driver.run_batch(events[begin : begin + BATCH])
        driver.outputs.clear()


def cpu_seconds(side: str, number: int) -> float:
    """Return the CPU time (s) of all processes of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, f"{side}-run", str(number)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(side: str, number: int) -> None:
    """Run the benchmark, or one side of it in this process."""
    if side.endswith("-run"):
        (run_spark if side.startswith("spark") else run_forebay)(number)
        return
    begin = time.monotonic()
    once, twice = cpu_seconds(side, number), cpu_seconds(side, 2 * number)
    per_event = (twice - once) / number * 1e6
    print(
        f"{side}: {per_event:.1f} us of CPU per event ({once:.1f} s, {twice:.1f} s; {time.monotonic() - begin:.0f} s)"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
