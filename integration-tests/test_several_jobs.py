"""`forebay run ONE TWO` runs two jobs in one Spark, with separate checkpoints, health and ends, and renamed topics."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from job_process import PYTHON_PATH, JobProcess
from own_topics import new_name, settings_of
from topic_reading import read_topic

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.platform import Platform
from forebay.scaffold.project import write_project

pytestmark = pytest.mark.timeout(300)


class Pair:
    """Two new services. The topics of the first one are renamed."""

    def __init__(self, platform: Platform, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names = [new_name("one"), new_name("two")]
        self.settings = settings_of(platform.endpoints)
        self.folder = folder
        self._connection = (
            *("--bootstrap-servers", platform.endpoints.bootstrap_servers),
            *("--schema-registry-url", platform.endpoints.registry_url),
        )
        for name in self.names:
            write_project(name, folder / name)
            monkeypatch.syspath_prepend(str(folder / name))
        packages = [name.replace("-", "_") for name in self.names]
        monkeypatch.setenv("FOREBAY_SERVICES", ",".join(f"{package}.service" for package in packages))
        self.inputs = [f"prod.{packages[0]}", f"{packages[1]}_events"]
        self.outputs = [f"prod.{packages[0]}.totals", f"{packages[1]}_totals"]
        self._sources = [f"{package}_events" for package in packages]
        self.renamed = [
            *("--topic", f"{packages[0]}_events={self.inputs[0]}"),
            *("--topic", f"{packages[0]}_totals={self.outputs[0]}"),
        ]

    def produce(self, number: int, count: int, seed: int) -> None:
        given = ("--rate", "0", "--count", str(count), "--keys", "5", "--seed", str(seed))
        renamed = self.renamed[:2] if number == 0 else ()
        assert run(["produce", self._sources[number], *given, *renamed, *self._connection]) == 0

    def start(self) -> JobProcess:
        paths = [str(self.folder / name) for name in self.names]
        options = ["--http-port", "0", "--checkpoint-interval-ms", "3000", "--memory", "512m", "--create-topics"]
        return JobProcess(
            [*self.names, *options, *self.renamed, *self._connection, "--home", str(self.folder)],
            self.folder / "jobs.log",
            {"PYTHONPATH": os.pathsep.join([*paths, PYTHON_PATH])},
        )

    def results(self, number: int) -> int:
        return sum(map(len, read_topic(self.settings, self.outputs[number]).values()))


def test_two_jobs_share_only_the_spark_application(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(platform, tmp_path, monkeypatch)
    assert run(["topics", "create", *pair.names, *pair.renamed, *pair._connection]) == 0
    for number in range(2):
        pair.produce(number, 300, seed=1)
    job = pair.start()
    try:
        one, two = pair.names
        job.until(lambda: all(pair.results(number) == 300 for number in range(2)), "the results of both jobs")
        job.until(lambda: job.http("/readyz")[0] == 200, "both jobs are ready")
        assert job.jvm().is_running(), "there is exactly one JVM, or the search for it has failed"
        status, metrics = job.http("/metrics")
        assert (status, *(f'service="{name}"' in metrics for name in pair.names)) == (200, True, True)
        assert f'service="{two}"' not in job.http(f"/{one}/metrics")[1]

        TopicAdmin(pair.settings).delete([pair.inputs[1]])
        job.until(
            lambda: any(f"{two}: ended; the other jobs continue: " in message for message in job.messages()), "an end"
        )
        assert pair.inputs[1] in json.loads(job.http(f"/{two}/readyz")[1])["reason"]
        pair.produce(0, 200, seed=2)
        job.until(lambda: pair.results(0) == 500, "the other job continues")
        assert job.http(f"/{one}/readyz")[0] == 200
        assert job.terminate() == 1
        assert f"error: {two}: " in job.text()
        assert "its loop ends" not in job.text(), "a lease did not reach the worker that has its loop"
        assert "Traceback" not in job.text()
    finally:
        job.kill()
    assert all((tmp_path / "checkpoints" / name / "commits").is_dir() for name in pair.names)
