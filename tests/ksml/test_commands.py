"""The command `forebay ksml`, and definitions as a service in the table of services."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.ksml.mounting import environment, files_of, mount, read_mounts
from forebay.service.agreement import disagreements
from tests.ksml.bodies import DEFINITIONS

ORDERS = DEFINITIONS / "order-stores.yaml"


def test_check_reports_differences_from_ksml(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ksml", "check", str(ORDERS)]) == 0
    out = capsys.readouterr().out
    assert "order-stores.yaml: can be run" in out
    assert "the store has a changelog; KSML's has none unless logging: true" in out
    assert "records are repartitioned before this function uses its store" in out


def test_check_reports_differences_of_types_and_partitioners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Place.avsc").write_text('{"type": "record", "name": "Place", "fields": []}')
    file = tmp_path / "keyed.yaml"
    file.write_text(
        """
streams:
  visits: {topic: visits, keyType: avro:Place, valueType: xml, partitioner: place}
functions:
  place: {type: streamPartitioner, expression: 0}
pipelines:
  main: {from: visits, via: [{type: repartition, partitioner: place}], to: visits}
"""
    )
    assert run(["ksml", "check", str(file)]) == 0
    out = capsys.readouterr().out
    assert "  3: Avro keys contain the schema's id in the registry" in out
    assert "  3: an .xsd is not read" in out
    assert "  3: the partitioner is used only where the topic is written" in out
    assert "  7: the partitioner receives the repartition's name" in out


def test_check_fails_with_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("streams:\n  a: {topic: t, keyTyp: string}\npipelines:\n  p: {form: a}\n")
    assert run(["ksml", "check", str(file)]) == 1
    lines = capsys.readouterr().out.strip().split("\n")
    assert [line.removeprefix(f"{file}:") for line in lines] == [
        "2: keyTyp is not a key of a stream: write keyType",
        "4: form is not a key of a pipeline: write from",
        "4: a pipeline has no from: add from:",
    ]


@pytest.mark.parametrize("command", ["check", "run", "produce", "topology"])
def test_missing_file_is_reported_first(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = tmp_path / "gone.yaml"
    assert run(["ksml", command, str(gone)]) == 2
    assert f"'{gone}' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--schemas", "--modules"])
def test_a_folder_that_is_not_there_is_named(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ksml", "check", str(ORDERS), option, str(tmp_path / "gone")]) == 2
    assert f"'{tmp_path / 'gone'}' does not exist" in capsys.readouterr().err


def test_topology_shows_steps_and_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ksml", "topology", str(ORDERS)]) == 0
    out = capsys.readouterr().out
    assert "reads ksml_order_events" in out
    assert "order-stores-inventory-changelog" in out


def test_the_entry_and_the_job_agree() -> None:
    result = mount("orders", [ORDERS])
    assert disagreements(result.service, result.job) == []
    assert [topic.name for topic in result.service.outputs] == ["ksml_order_results"]
    assert result.service.stages == 3


def test_a_folder_is_all_its_definitions_as_one_job() -> None:
    result = read_mounts(environment("all", [DEFINITIONS]))
    assert len(result.service.inputs) == 5
    assert set(result.service.stores) >= {"orders", "inventory", "customers", "metric_windows"}


def test_the_runner_s_configuration_next_to_definitions_is_ignored(tmp_path: Path) -> None:
    for name, text in (("one.yaml", "streams: {}"), ("ksml-runner.yaml", "ksml:\n  definitions: {a: one.yaml}\n")):
        (tmp_path / name).write_text(text)
    assert files_of([tmp_path]) == [tmp_path / "one.yaml"]


@pytest.mark.long
def test_other_processes_find_the_service_by_the_environment() -> None:
    script = "from forebay.catalog import find_service as f; print(f('orders').stages, f('orders').summary)"
    variables = {**os.environ, **environment("orders", [ORDERS]), "FOREBAY_SERVICES": "forebay.ksml.mounted"}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "3 KSML: order-stores.yaml\n"
