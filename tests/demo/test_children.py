"""Ending a child process also ends its descendants. If it fails, its last lines of output are reported."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from forebay.demo.children import Child
from forebay.demo.errors import DemoError

SAYS_AND_WAITS = "import signal; print('up', flush=True); signal.pause()"
IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
FAILS_AT_THE_END = (
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit('disk full')); print('up', flush=True);"
    "signal.pause()"
)
TELLS_WHEN_ASKED = (
    "import signal; signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True)); print('up', flush=True)\n"
    "while True: signal.pause()"
)
HAS_A_CHILD = (
    "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import signal, os; os.setpgid(0, 0);"
    'signal.signal(signal.SIGTERM, signal.SIG_IGN); print("up", flush=True); signal.pause()\']); p.wait()'
)

Start = Callable[..., Child]


def wait_until(check: Callable[[], bool], description: str, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {description}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Child] = []

    def start_child(program: str, grace_s: float = 10.0) -> Child:
        child = Child("job x", (sys.executable, "-c", program), tmp_path / "job.log", grace_s)
        child.start()
        started.append(child)
        wait_until(lambda: "up" in child.log.read_text(), "the child says that it is up")
        return child

    yield start_child
    for child in started:
        child.stop(lambda: True)


def never() -> bool:
    return False


def test_ends_when_asked(start: Start) -> None:
    child = start(SAYS_AND_WAITS)
    child.require_alive()
    with pytest.raises(DemoError, match="SIGTERM"):
        child.stop(never)
    assert not alive(child.pid)


def test_is_in_a_session_of_its_own(start: Start) -> None:
    assert os.getsid(start(SAYS_AND_WAITS).pid) != os.getsid(0)


def test_an_early_end_is_reported_with_the_logs_last_lines(tmp_path: Path) -> None:
    child = Child("job x", (sys.executable, "-c", "print('no topic'); raise SystemExit(3)"), tmp_path / "x.log", 1)
    child.start()
    wait_until(lambda: not alive(child.pid), "the child has ended")
    with pytest.raises(DemoError, match=r"the job x ended \(exit code 3\): its log is .*x\.log") as failed:
        child.require_alive()
    assert failed.value.log_tail == "no topic"


def test_a_child_that_does_not_end_is_killed_and_reported(start: Start) -> None:
    child = start(IGNORES_TERM, grace_s=0.3)
    with pytest.raises(DemoError, match="did not end within 0 s and was killed"):
        child.stop(never)
    assert not alive(child.pid)


def test_in_a_hurry_it_is_killed_at_once(start: Start) -> None:
    child = start(IGNORES_TERM, grace_s=600)
    child.stop(lambda: True)
    assert not alive(child.pid)


@pytest.mark.long
def test_descendants_end_with_their_process(start: Start) -> None:
    child = start(HAS_A_CHILD)
    (grandchild,) = psutil.Process(child.pid).children()
    child.stop(lambda: True)
    wait_until(lambda: not alive(grandchild.pid), "the grandchild is gone")


def test_is_asked_once(start: Start) -> None:
    child = start(TELLS_WHEN_ASKED, grace_s=0.3)
    child.ask_to_end()
    wait_until(lambda: "asked" in child.log.read_text(), "the child was asked")
    child.ask_to_end()
    with pytest.raises(DemoError, match="did not end within"):
        child.stop(never)
    assert child.log.read_text().count("asked") == 1


def test_a_failure_at_the_end_is_reported(start: Start) -> None:
    child = start(FAILS_AT_THE_END)
    with pytest.raises(DemoError, match=r"failed as it ended \(exit code 1\)") as failed:
        child.stop(never)
    assert "disk full" in failed.value.log_tail


def test_a_command_that_only_shows_may_be_ended_by_the_signal_itself(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import signal; signal.pause()")
    for only_shows in (True, False):
        child = Child("console", command, tmp_path / "console.log", 10, only_shows=only_shows)
        child.start()
        with nullcontext() if only_shows else pytest.raises(DemoError, match="signal SIGTERM"):
            child.stop(never)


def test_the_log_of_the_run_before_is_kept(start: Start, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("old")
    child = start(SAYS_AND_WAITS)
    assert (tmp_path / "job.log.1").read_text() == "old"
    assert child.log.read_text() == "up\n"


def test_a_log_that_cant_be_written(tmp_path: Path) -> None:
    child = Child("job x", (sys.executable, "-c", ""), tmp_path / "missing" / "job.log", 1)
    with pytest.raises(DemoError, match="can't be started"):
        child.start()
