"""Workers survive their executor if there is enough memory. The tests use real processes, as Spark's daemon does."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from forebay.runtime.process import survivors
from forebay.runtime.process.survivors import surviving_workers

_KEEPER = """
import os, sys
from forebay.runtime.process.survivors import allow_survivors

environment = {}
allow_survivors(environment)
print(*environment.items(), flush=True)
sys.stdin.read()
"""
_DAEMON = """
import logging, os, signal, sys, time
from pathlib import Path
from forebay.runtime.process import survivors
from forebay.runtime.process.survivors import survive_executor, survives_executor

logging.basicConfig(level=logging.INFO)
os.setpgid(0, 0)
work, report = Path(sys.argv[1]), Path(sys.argv[2])
if sys.argv[3] == "crowded":
    survivors.memory_bytes = lambda: 1_000_000
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    survive_executor(work.exists)
    survive_executor(work.exists)
    report.write_text(f"{os.getpid()} {survives_executor()}")
    while os.getppid() != 1 and work.with_suffix(".executor").exists():
        time.sleep(0.01)
    os._exit(0)
while not report.exists() or not report.read_text():
    time.sleep(0.01)
os.kill(0, signal.SIGHUP)
time.sleep(0.05)
"""


class Daemon:
    """Spark's daemon with one worker. The daemon ends as soon as its executor does."""

    def __init__(self, folder: Path, room: str, environment: dict[str, str]) -> None:
        self.work, report = folder / "work", folder / "report"
        self.executor = self.work.with_suffix(".executor")
        self.work.touch()
        self.executor.touch()
        command = [sys.executable, "-c", _DAEMON, str(self.work), str(report), room]
        subprocess.run(command, env={**os.environ, **environment}, check=True, timeout=30)
        worker, said = report.read_text().split()
        self.is_surviving = said == "True"
        self.worker = int(worker)

    @property
    def is_alive(self) -> bool:
        try:
            return psutil.Process(self.worker).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def wait_for_end(self) -> None:
        until = time.monotonic() + 20
        while self.is_alive:
            assert time.monotonic() < until, "the worker does not end"
            time.sleep(0.01)


@pytest.fixture
def keeper(tmp_path: Path) -> Path:
    """Return the log file of the process that looks after orphaned workers."""
    return tmp_path / "keeper.log"


@pytest.fixture
def environment_of(keeper: Path) -> Iterator[dict[str, str]]:
    """Yield the environment variables with which workers may survive their executor."""
    with (
        keeper.open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", _KEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        name, value = ast.literal_eval(process.stdout.readline())
        yield {name: value}
        process.communicate("")


def test_an_orphaned_worker_continues_until_its_work_is_done(
    tmp_path: Path, environment_of: dict[str, str], keeper: Path
) -> None:
    daemon = Daemon(tmp_path, "room", environment_of)
    assert daemon.is_surviving
    daemon.executor.unlink()
    until = time.monotonic() + 20
    while "continue until other workers take over" not in keeper.read_text():
        assert time.monotonic() < until, "what it logs is lost with its executor"
        time.sleep(0.01)
    assert daemon.is_alive
    daemon.work.unlink()
    daemon.wait_for_end()
    assert "have ended" in keeper.read_text()


def test_a_worker_without_a_keeper_ends_with_its_daemon(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, "room", {})
    assert not daemon.is_surviving
    daemon.wait_for_end()
    assert daemon.work.exists()


def test_without_memory_for_its_successor_a_worker_ends_with_its_executor(
    tmp_path: Path, environment_of: dict[str, str]
) -> None:
    daemon = Daemon(tmp_path, "crowded", environment_of)
    assert not daemon.is_surviving
    daemon.executor.unlink()
    daemon.wait_for_end()
    assert daemon.work.exists()


@pytest.fixture
def child() -> Iterator[int]:
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    yield pid
    if psutil.pid_exists(pid):
        os.kill(pid, signal.SIGKILL)


def test_the_end_of_an_orphaned_worker_is_reported(child: int) -> None:
    assert child in [process.pid for process in surviving_workers()]
    os.kill(child, signal.SIGKILL)
    until = time.monotonic() + 20
    while child in [process.pid for process in surviving_workers()]:
        assert time.monotonic() < until
    assert not psutil.pid_exists(child), "no zombie stays"


def test_a_worker_ends_as_usual_if_it_may_not_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = os._exit
    monkeypatch.delenv("FOREBAY_WORKERS_SURVIVE", raising=False)
    survivors.survive_executor(lambda: True)
    assert os._exit is leave
