"""Processes with the harness's directory on PYTHONPATH have the named fault points. Other processes do not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from faults.points import VARIABLE, Action, Armed, Armory, Point

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "integration-tests" / "faults" / "hook"
WRITE = """
from forebay.runtime.spark import planner
from forebay.runtime.snapshots.storage import SnapshotFiles
class Task:
    def write(self, snapshot): print("written", flush=True)
storage = SnapshotFiles(None, "c1")
storage._tasks[0, 0] = Task()
storage.write((0, 0), None)
print("on", planner.now_ms() // 86_400_000 > 100_000, flush=True)
storage.write((0, 0), None)
"""
WRAPPED = {
    "forebay.runtime.spark.planner": "LeasePlanner.plan",
    "forebay.runtime.snapshots.storage": "SnapshotFiles.write",
    "forebay.runtime.task.snapshot_writing": "SnapshotKeeper.write",
    "forebay.runtime.task.runner": "GroupRunner.renew",
    "forebay.runtime.driver.query": "JobRunner._on_batch",
}
"""Places of the product with a named fault point. Those of the producer are in a class of the hook."""


def run(program: str, armory: Path | None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (HOOK, HOOK.parents[1], ROOT / "services", ROOT)))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop(VARIABLE, None)
    if armory is not None:
        environment[VARIABLE] = str(armory)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_state_write_is_survived_once_and_the_second_kills(tmp_path: Path) -> None:
    armory = Armory(tmp_path)
    armory.arm(Armed(Point.AFTER_STATE, Action.KILL_SELF), calls=2)
    armory.jump(86_400_000 * 90_000)
    done = run(WRITE, tmp_path)
    assert done.stdout.split("\n")[:-1] == ["written", "on True", "written"], done.stderr
    assert done.returncode == -signal.SIGKILL
    assert armory.fired_at() is not None


def test_the_error_of_a_raised_fault_names_its_point(tmp_path: Path) -> None:
    Armory(tmp_path).arm(Armed(Point.AFTER_STATE, Action.RAISE))
    done = run(WRITE, tmp_path)
    assert "InjectedFault: injected at after-state-write" in done.stderr


@pytest.mark.parametrize("variable", [True, False])
def test_the_named_functions_are_wrapped_only_if_the_variable_is_set(tmp_path: Path, variable: bool) -> None:
    lines = [f"import {module}; print({module}.{name}.__wrapped__ is not None)" for module, name in WRAPPED.items()]
    lines.append("import forebay.runtime.worker.build as build; print(build.Producer.__module__ == 'faults.hook')")
    for line in lines:
        done = run(line, tmp_path if variable else None)
        assert (done.stdout == "True\n") == variable, done.stderr
