"""The Python of Spark's workers gets the driver's import path without the archives that are part of PySpark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from forebay.runtime.launch.worker_python import choose_python

INSTALLED = str(Path(pyspark.__file__).parent)
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], sys.path, os.environ.get('PYTHONPATH'), sys.executable]))"


def start_python(environment: dict[str, str], *arguments: str) -> tuple[list[str], list[str], str | None, str]:
    """Start the chosen Python as Spark would. Return its arguments, path, PYTHONPATH and executable."""
    choose_python(environment)
    command = [environment["PYSPARK_PYTHON"], "-c", SHOW, *arguments]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    given, path, python_path, executable = json.loads(shown)
    return given, path, python_path, executable


def test_jars_of_spark_are_omitted_and_all_others_kept(tmp_path: Path) -> None:
    (tmp_path / "a b*").mkdir()
    shipped = [f"{INSTALLED}/python/lib/pyspark.zip", f"{INSTALLED}/jars/spark-core_2.13-4.3.0.jar"]
    given = [*shipped, str(tmp_path / "a b*"), "/some/users.zip"]
    arguments, path, python_path, executable = start_python(
        {"SPARK_HOME": INSTALLED, "PYTHONPATH": ":".join(given)}, "-m", "two words", "*", ""
    )
    assert arguments == ["-m", "two words", "*", ""]
    assert python_path == ":".join(given[2:])
    assert path[1:3] == given[2:]
    assert executable == sys.executable


def test_the_worker_s_python_needs_no_python_path_and_no_spark_home() -> None:
    _, path, python_path, executable = start_python({"PATH": os.environ["PATH"]})
    assert not python_path
    assert executable == sys.executable
    assert any(Path(place, "pyspark") == Path(INSTALLED) for place in path)


def test_workers_of_another_spark_installation_use_the_driver_s_python(tmp_path: Path) -> None:
    environment = {"SPARK_HOME": str(tmp_path)}
    choose_python(environment)
    assert environment["PYSPARK_PYTHON"] == sys.executable


def test_a_configured_python_is_not_replaced() -> None:
    environment = {"PYSPARK_PYTHON": "/opt/python"}
    choose_python(environment)
    assert environment["PYSPARK_PYTHON"] == "/opt/python"
