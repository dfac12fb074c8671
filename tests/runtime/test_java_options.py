"""Java's options: the archive of Spark's classes only where there is one; given ones come after the job's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forebay.runtime.session import archive_file, archive_options, java_settings


def test_the_archive_belongs_to_the_python_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "an environment"))
    assert archive_options() == ""
    archive_file().parent.mkdir(parents=True)
    archive_file().write_bytes(b"classes")
    assert archive_options().startswith(f'"-XX:SharedArchiveFile={tmp_path}/an environment/share/forebay/spark-')


def test_given_java_options_are_added_to_the_jobs_own() -> None:
    given = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4 -Dmine=1", "spark.other": "x"}
    assert java_settings("-XX:TieredStopAtLevel=1", given) == {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:TieredStopAtLevel=4 -Dmine=1",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }


def test_another_collector_replaces_the_jobs_own() -> None:
    settings = java_settings("-XX:+UseSerialGC -Xlog", {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"})
    assert settings["spark.driver.extraJavaOptions"] == "-Xlog -XX:+UseParallelGC"
    assert settings["spark.executor.extraJavaOptions"] == "-XX:+UseSerialGC -Xlog"
