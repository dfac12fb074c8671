"""Processes with the harness's directory on PYTHONPATH know the named points; others don't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from faults.points import VARIABLE, Action, Armed, Armory, Point

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "integration-tests" / "faults" / "hook"
PLAN = """
from forebay.runtime import source
source.RangePlanner.plan.__wrapped__
from forebay.runtime.stateful import SparkStorage
class State:
    def update(self, row): print("written", flush=True)
storage = SparkStorage.__new__(SparkStorage)
storage._state = State()
storage.write_state(b"x")
print("on", source._now() // 86_400_000 > 100_000, flush=True)
storage.write_state(b"x")
"""


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
    armory.jump(86_400_000 * 200_000)
    done = run(PLAN, tmp_path)
    assert done.stdout.split("\n")[:-1] == ["written", "on True", "written"], done.stderr
    assert done.returncode == -signal.SIGKILL
    assert armory.fired_at() is not None


def test_a_raised_fault_says_where(tmp_path: Path) -> None:
    Armory(tmp_path).arm(Armed(Point.AFTER_STATE, Action.RAISE))
    done = run(PLAN, tmp_path)
    assert "InjectedFault: injected at after-state-write" in done.stderr


def test_without_the_variable_nothing_is_wrapped() -> None:
    done = run("from forebay.runtime import source\nprint(hasattr(source.RangePlanner.plan, '__wrapped__'))", None)
    assert done.stdout == "False\n", done.stderr
