"""Spark starts faster with a class data archive, and with workers that import the installed pyspark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from job_process import PYTHON_PATH

from forebay.cli.executor import java_command
from forebay.runtime.driver.class_archive import build
from forebay.runtime.launch.shared_classes import archive_options

FEWEST = 8_000
SESSION = """
import sys
from forebay.runtime.driver.session import SparkOptions, build_session
session = build_session("archived", sys.argv[1], SparkOptions(), sys.argv[2])
print(session.range(5).count())
session.stop()
"""
LAUNCHED = """
import sys
from forebay.runtime.driver.session import SparkOptions, build_session, launch
launch(SparkOptions())
session = build_session("launched", sys.argv[1], SparkOptions(), sys.argv[2])
print(session.range(5).count(), "pandas" in sys.modules)
session.stop()
"""
WORKER = """
import sys
from pyspark.sql.functions import udf
from forebay.runtime.driver.session import SparkOptions, build_session
session = build_session("worker", sys.argv[1], SparkOptions(), sys.argv[2])
place = udf(lambda _: __import__("pyspark").__file__)
print(session.range(1).select(place("id")).first()[0])
session.stop()
"""
WARMED = """
import os, sys
from pyspark.sql.datasource import DataSource, DataSourceReader
from forebay.runtime.driver.session import SparkOptions, build_session
from forebay.runtime.launch.own_workers import own_workers

class Reader(DataSourceReader):
    def read(self, partition):
        yield (os.getpid(),)

class Workers(DataSource):
    def schema(self):
        return "pid long"
    def reader(self, schema):
        return Reader()

session = build_session("warmed", sys.argv[1], SparkOptions(), sys.argv[2])
with own_workers(session.sparkContext, "sums"):
    warmed = session.sparkContext.parallelize([0], 1).map(lambda _: os.getpid()).collect()
    session.dataSource.register(Workers)
print(warmed == [row.pid for row in session.read.format("Workers").load().collect()])
session.stop()
"""


def start_spark(folder: Path, java_options: str, script: str = SESSION) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, str(folder / "checkpoint"), java_options],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new class data archive. It takes half a minute to build, and no test changes it."""
    archive = tmp_path_factory.mktemp("archive") / "own" / "spark.jsa"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PYTHON_PATH)
        build(archive)
    return archive


@pytest.mark.timeout(600)
def test_the_jvm_takes_spark_s_classes_from_the_archive(tmp_path: Path, archive: Path) -> None:
    loaded = tmp_path / "loaded.log"
    assert list(archive.parent.iterdir()) == [archive]
    done = start_spark(tmp_path, f"-XX:SharedArchiveFile={archive} -Xlog:class+load:file={loaded}")
    assert done.stdout == "5\n", done.stderr
    shared = [line for line in loaded.read_text().splitlines() if "shared objects file (top)" in line]
    assert sum("org.apache.spark" in line for line in shared) > 1_000
    assert len(shared) > FEWEST


@pytest.mark.timeout(600)
def test_an_executor_s_jvm_takes_classes_from_the_same_archive(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    loaded = tmp_path / "loaded.log"
    java, *rest = java_command("127.0.0.1", "none", "127.0.0.1", "none-0", "256m", {})
    results = [part for part in rest if not part.startswith("-XX:SharedArchiveFile")]
    given = [f"-XX:SharedArchiveFile={archive}", f"-Xlog:class+load:file={loaded}"]
    done = subprocess.run([java, *given, *results], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode, "there is no driver to connect to"
    shared = [line for line in loaded.read_text().splitlines() if "shared objects file (top)" in line]
    assert sum("org.apache.spark" in line for line in shared) > 100, done.stderr[-500:]


def test_an_archive_that_does_not_fit_is_skipped_silently(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    archive.write_bytes(b"of another Java" * 1_000)
    done = start_spark(tmp_path, f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off")
    assert (done.stdout, done.returncode) == ("5\n", 0), done.stderr
    assert "archive" not in done.stderr


def test_a_driver_s_start_imports_no_pandas(tmp_path: Path) -> None:
    done = start_spark(tmp_path, " ".join(archive_options()), LAUNCHED)
    assert done.stdout == "5 False\n", done.stderr


def test_workers_import_the_installed_pyspark_not_the_sources_in_spark_s_zip(tmp_path: Path) -> None:
    done = start_spark(tmp_path, " ".join(archive_options()), WORKER)
    assert done.stdout == f"{pyspark.__file__}\n", done.stderr


def test_a_data_source_is_read_in_the_worker_that_was_warmed(tmp_path: Path) -> None:
    done = start_spark(tmp_path, " ".join(archive_options()), WARMED)
    assert done.stdout == "True\n", done.stderr
