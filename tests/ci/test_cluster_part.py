"""The cluster stage of CI reports when it can't run, and always takes its cluster down."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PART = Path(__file__).parents[2] / ".ci" / "cluster"


class Machine:
    """A machine whose `cluster` command and tools only record their arguments."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "calls"
        self._bin = folder / "bin"
        self._bin.mkdir()
        self.fake("cluster", 'case $1 in status) exit 3 ;; env) echo "export KUBECONFIG=/nowhere" ;; esac')
        for name in ("make", "docker", "kubectl", "git"):
            self.fake(name)

    def breaks(self, name: str, when: str) -> None:
        """Let a command fail if its arguments begin with `when`."""
        self.fake(name, f'case "$*" in "{when}"*) exit 1 ;; status) exit 3 ;; esac')

    def run(self, cluster: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self._bin}:{os.environ['PATH']}"}
        environment["E2E_CLUSTER"] = cluster or str(self._bin / "cluster")
        environment["E2E_FAILURES"] = str(self._bin)
        return subprocess.run([PART], env=environment, capture_output=True, text=True, timeout=60, check=False)

    @property
    def calls(self) -> list[str]:
        return self.record.read_text().splitlines() if self.record.exists() else []

    def fake(self, name: str, body: str = "") -> None:
        """Create a command that records its arguments and then runs `body`."""
        file = self._bin / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.record}\n{body}\n')
        file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_cluster_it_says_so_and_passes(machine: Machine) -> None:
    done = machine.run(cluster="/nowhere/cluster")
    assert done.returncode == 0
    assert "NOT RUN" in done.stdout
    assert "/nowhere/cluster" in done.stdout
    assert machine.calls == []


def test_a_cluster_that_does_not_start_is_said_and_taken_down(machine: Machine) -> None:
    machine.breaks("cluster", "up")
    done = machine.run()
    assert done.returncode == 0
    assert "NOT RUN" in done.stdout
    assert machine.calls[-1] == "cluster down"
    assert not any(call.startswith("make") for call in machine.calls)


def test_charts_images_and_one_service_are_tested_and_the_cluster_taken_down(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0, done.stderr
    targets = [call for call in machine.calls if call.startswith("make")]
    assert [call.split()[1] for call in targets] == ["charts", "image", "e2e"]
    assert machine.calls[-1] == "cluster down"


@pytest.mark.parametrize("target", ["charts", "image", "e2e"])
def test_a_failure_fails_it_and_the_cluster_is_taken_down(machine: Machine, target: str) -> None:
    machine.breaks("make", target)
    done = machine.run()
    assert done.returncode != 0
    assert any(call.startswith("kubectl get events") for call in machine.calls)
    assert machine.calls[-1] == "cluster down"


def test_charts_that_change_the_tree_fail_it(machine: Machine) -> None:
    changing = f'[ -e {machine.record}.changed ] && echo " M charts/README.md"; touch {machine.record}.changed'
    machine.fake("git", f"case $1 in status) {changing} ;; esac")
    done = machine.run()
    assert done.returncode != 0
    assert "make charts has changed generated files" in done.stderr


def test_a_cluster_that_ran_already_is_left_running(machine: Machine) -> None:
    machine.fake("cluster")
    assert machine.run().returncode == 0
    assert "cluster down" not in machine.calls
