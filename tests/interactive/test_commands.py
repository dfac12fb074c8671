"""Keyword arguments become command-line options, and child processes can import the same modules as this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forebay
from forebay.builder import Topology, TopologyError
from forebay.catalog import UnknownService
from forebay.interactive import shipped
from forebay.interactive.commands import command_line, environment, of_queries
from forebay.service.plugins import VARIABLE


def test_options() -> None:
    given: dict[str, object] = {
        "slots": 2,
        "restore": True,
        "check": False,
        "application": None,
        "set": {"idle_timeout_ms": 5, "list_limit": 3},
        "kafka_option": ["a=b", "c=d"],
        "home": Path("here"),
    }
    words = command_line("run", "user-sessions", given)[3:]
    assert " ".join(words) == (
        "run user-sessions --slots 2 --restore --no-check --set idle_timeout_ms=5 --set list_limit=3 "
        "--kafka-option a=b --kafka-option c=d --home here"
    )
    assert of_queries(given).keys() == {"application", "set", "kafka_option", "home"}


def test_processes_import_what_this_one_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(VARIABLE, "mine.service")
    result = environment(tmp_path / "topology")
    paths = result["PYTHONPATH"].split(os.pathsep)
    assert paths[0] == str(tmp_path)
    assert not [path for path in paths if path.startswith(f"{sys.prefix}/lib")]
    assert result[VARIABLE] == f"mine.service,{shipped.MODULE}"
    assert result[shipped.VARIABLE] == str(tmp_path / "topology")
    assert shipped.VARIABLE not in environment(None)


def one() -> Topology:
    topology = Topology()
    topology.stream("a", str).to("b")
    return topology


def test_an_unsupported_class_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownService, match="there is no service 'nonsense'"):
        forebay.run("nonsense", home=tmp_path)
    with pytest.raises(ValueError, match=r'a topology needs a name, .*: pass name="word-counts"'):
        forebay.run(one(), home=tmp_path)
    with pytest.raises(ValueError, match="user-sessions has its own; application= names a job of it"):
        forebay.run("user-sessions", name="mine", home=tmp_path)
    with pytest.raises(TopologyError, match="reads no topic"):
        forebay.run(Topology(), name="mine", home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = "import sys, forebay; print(*sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "__main__ forebay"
