"""The process of an executor pod."""

from __future__ import annotations

import re
import zipfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from forebay.cli.executor import OPENED, PROPERTIES, java_command
from forebay.cli.main import run
from forebay.runtime import kubernetes


def test_it_opens_the_packages_that_spark_opens_itself() -> None:
    jars = Path(str(find_spec("pyspark").origin)).parent / "jars"  # type: ignore[union-attr]
    (launcher,) = jars.glob("spark-launcher_*.jar")
    options = zipfile.ZipFile(launcher).read("org/apache/spark/launcher/JavaModuleOptions.class")
    opened = re.findall(rb"--add-opens=([\w./]+)=ALL-UNNAMED", options)
    properties = re.findall(rb"-Dio\.netty\.[\w.=]+", options)
    assert [name.decode() for name in opened] == list(OPENED)
    assert {text.decode() for text in properties} == set(PROPERTIES)


def test_it_joins_the_driver_it_is_told() -> None:
    command = java_command("demo-driver.here.svc", "demo-executor", "10.0.0.7", "demo-executor-0", "640m")
    assert "-Xmx640m" in command
    told = dict(pairwise(command))
    assert told["--driver-url"] == "spark://CoarseGrainedScheduler@demo-driver.here.svc:7078"
    assert told["--app-id"] == "demo-executor"
    assert told["--podName"] == "demo-executor-0"
    assert told["--hostname"] == told["--bind-address"] == "10.0.0.7"
    assert told["--cores"] == "1", "one core, one Python worker: tasks stay where their tables are"


def test_a_pod_without_its_name_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POD_NAME", raising=False)
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    assert run(["executor", "--driver", "d", "--application", "a"]) == 2
    assert "POD_NAME must be set" in capsys.readouterr().err


def test_a_driver_outside_of_a_pod_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kubernetes, "SERVICE_ACCOUNT", tmp_path / "nowhere")
    with pytest.raises(kubernetes.NotOnKubernetes, match="give --slots instead"):
        kubernetes.ExecutorPods.of_this_pod("demo-executor", "demo")
