"""Java gets the archive of Spark's classes only if it exists. The user's Java options follow those of the job."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from forebay.runtime.driver.session import SparkOptions, _common_settings, java_settings
from forebay.runtime.launch.shared_classes import archive_file, archive_options, class_path


def test_the_archive_belongs_to_the_python_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "an environment"))
    assert archive_options() == ()
    archive_file().parent.mkdir(parents=True)
    archive_file().write_bytes(b"classes")
    *_, used, no_log, no_dynamic_log = archive_options()
    assert used.startswith(f"-XX:SharedArchiveFile={tmp_path}/an environment/share/forebay/spark-")
    assert [no_log, no_dynamic_log] == ["-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def test_executors_have_the_class_path_of_drivers_which_the_archive_was_made_for() -> None:
    spark = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
    conf, first, rest = class_path(spark).split(":")
    assert (conf, rest) == (str(spark / "conf"), str(spark / "jars" / "*"))
    assert Path(first).match("jars/slf4j-api-*.jar")


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


def test_the_heap_begins_small_on_every_machine_unless_a_start_is_given() -> None:
    own = _common_settings(SparkOptions())["spark.driver.extraJavaOptions"].split()
    assert [option for option in own if option.startswith("-Xms")] == ["-Xms96m"]
    given = SparkOptions(conf={"spark.driver.extraJavaOptions": "-Xms300m"})
    assert _common_settings(given)["spark.driver.extraJavaOptions"].split()[-1] == "-Xms300m"
