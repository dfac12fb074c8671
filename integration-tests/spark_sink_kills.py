"""Fault test that kills a driver of the sink at random points. In the end, the topic must contain each row once.

    python integration-tests/spark_sink_kills.py --kills 100 --first 1
    python integration-tests/spark_sink_kills.py --kills 1000 --tasks   (the sink's tasks without Spark)

For each seed, a driver starts, writes micro-batches, and is killed (SIGKILL, with its JVM) after a random time. The
next driver resumes from the checkpoint. Workers of a killed driver may run a little longer. The sink must fence them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from own_topics import new_topic, settings_of
from spark_sink import ids, options_of, write_files

from forebay.kafka.errors import KafkaUnavailable
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from forebay.spark.sink_markers import Markers

ROWS = 200
SPARK, TASKS = (Path(__file__).with_name(name) for name in ("spark_sink.py", "spark_sink_tasks.py"))
_START_SECONDS = 120.0
_DECIDED_SECONDS = 3.0


@dataclass
class Kills:
    """A query whose driver is killed repeatedly.

    Args:
        script: Script of the driver.
        points: Number of kills by the number of partitions that an unfinished micro-batch had committed.
    """

    settings: KafkaSettings
    folder: Path
    topic: str
    script: Path = SPARK
    partitions: int = 3
    rows: int = 0
    points: Counter[str] = field(default_factory=Counter)

    def live(self, seed: int | None) -> None:
        """Run a driver until it is killed at a point that the seed determines, or to its end if the seed is None."""
        with (self.folder / "driver.log").open("ab") as log:
            driver = subprocess.Popen(
                [sys.executable, str(self.script), json.dumps(self._arguments())],
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            try:
                self._await_start(driver)
                if seed is None:
                    assert driver.wait(600) == 0, (self.folder / "driver.log").read_text()[-4000:]
                else:
                    self._kill(driver, random.Random(seed))
            finally:
                if driver.poll() is None:
                    os.killpg(driver.pid, signal.SIGKILL)
                    driver.wait()

    def add_files(self, count: int) -> None:
        """Add files of rows to the source."""
        write_files(self.folder / "in", count, ROWS, self.rows)
        self.rows += count * ROWS

    def unread_files(self) -> int:
        """Return the number of files that no micro-batch has read."""
        return self.rows // ROWS - len(_batches(self.folder / "checkpoint" / "offsets"))

    def check(self, *, is_complete: bool) -> None:
        """Compare the topic with the source. Raises AssertionError."""
        counts = ids(self.settings, self.topic)
        doubled = {number: count for number, count in counts.items() if count > 1}
        assert not doubled, f"doubled: {len(doubled)} of {self.rows} rows"
        if is_complete:
            lost = set(range(self.rows)) - counts.keys()
            assert not lost, f"lost: {len(lost)} of {self.rows} rows"

    def _arguments(self) -> dict[str, object]:
        return {
            "cores": 2,
            "partitions": self.partitions,
            "folder": str(self.folder / "in"),
            "checkpoint": str(self.folder / "checkpoint"),
            "options": options_of(self.settings, self.topic, repeatTimeoutMs="60000"),
        }

    def _await_start(self, driver: subprocess.Popen[bytes]) -> None:
        assert driver.stdout is not None
        line = driver.stdout.readline()
        assert line == b"started\n", (self.folder / "driver.log").read_text()[-4000:]

    def _kill(self, driver: subprocess.Popen[bytes], chance: random.Random) -> None:
        """Let the driver finish some micro-batches, and kill it at a random moment of a later one."""
        commits = self.folder / "checkpoint" / "commits"
        target = len(_batches(commits)) + chance.randint(0, 2)
        delay = chance.uniform(0.0, 1.0 if self.script == TASKS else 2.0)
        deadline = time.monotonic() + _START_SECONDS
        while driver.poll() is None and len(_batches(commits)) < target:
            assert time.monotonic() < deadline, (self.folder / "driver.log").read_text()[-4000:]
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        self._count_point()

    def _count_point(self) -> None:
        checkpoint = self.folder / "checkpoint"
        unfinished = _batches(checkpoint / "offsets") - _batches(checkpoint / "commits")
        if not unfinished:
            self.points["between micro-batches"] += 1
            return
        query = json.loads((checkpoint / "metadata").read_text())["id"]
        markers = Markers(self.settings, self.topic, f"forebay-sink-{query}")
        committed = open_ends = 0
        for partition in range(self.partitions):
            consumer = markers.consumer(partition)
            try:
                marker = markers.read(consumer, _DECIDED_SECONDS)
                committed += marker is not None and marker.batch == max(unfinished)
            except KafkaUnavailable:
                open_ends += 1
            finally:
                consumer.close()
        point = f"{committed} of {self.partitions} partitions committed"
        self.points[f"{point}, {open_ends} undecided" if open_ends else point] += 1


def _batches(log: Path) -> set[int]:
    return {int(file.name) for file in log.iterdir() if file.name.isdigit()} if log.exists() else set()


def run(settings: KafkaSettings, folder: Path, seeds: range, script: Path = SPARK) -> Kills:
    """Kill a driver once for each seed, and check the topic after each kill and at the end."""
    kills = Kills(settings, folder, new_topic(settings, "sink-kills", 2), script)
    for seed in seeds:
        if kills.unread_files() < 10:
            kills.add_files(20)
        kills.live(seed)
        kills.check(is_complete=False)
        print(f"seed {seed}: {dict(kills.points)}", flush=True)
    kills.live(None)
    kills.check(is_complete=True)
    return kills


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--tasks", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, Platform(Path(scratch) / "platform") as platform:
        seeds = range(given.first, given.first + given.kills)
        result = run(settings_of(platform.up()), Path(scratch), seeds, TASKS if given.tasks else SPARK)
        print(f"{given.kills} kills, {result.rows} rows: lost 0, doubled 0; kills hit {dict(result.points)}")
