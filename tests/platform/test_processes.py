from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from forebay.platform import PlatformError, process
from forebay.platform.state import ProcessRecord

MakeJava = Callable[[str], Path]
Spawn = Callable[[Path], ProcessRecord]

WAITS = "print('hello', flush=True); signal.pause()"
IGNORES_TERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"


def wait_for_output(log: Path) -> None:
    deadline = time.monotonic() + 30
    while not process.log_tail(log):
        assert time.monotonic() < deadline, f"nothing was written to {log} in 30 s"


def test_a_process_is_recognised_by_its_token_not_by_its_pid(fake_java: MakeJava, spawn: Spawn) -> None:
    record = spawn(fake_java(WAITS))
    result = process.find(record)
    assert result is not None
    assert result.pid == record.pid
    assert process.find(ProcessRecord(record.pid, "0" * 16)) is None
    assert process.find(None) is None


def test_an_unrelated_process_with_the_recorded_pid_is_not_ended() -> None:
    own = ProcessRecord(os.getpid(), "0" * 16)
    process.terminate(own, 1)
    process.kill(own)


def test_a_process_survives_the_terminal(fake_java: MakeJava, spawn: Spawn) -> None:
    record = spawn(fake_java(WAITS))
    assert os.getsid(record.pid) != os.getsid(0)


def test_an_ended_child_is_not_running(fake_java: MakeJava, spawn: Spawn) -> None:
    record = spawn(fake_java(WAITS))
    os.kill(record.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while process.find(record) is not None:
        assert time.monotonic() < deadline, "a killed process still counts as running after 30 s"


def test_terminate_ends_it_and_kill_ends_it(fake_java: MakeJava, spawn: Spawn) -> None:
    java = fake_java(WAITS)
    first, second = spawn(java), spawn(java)
    process.terminate(first, 30)
    process.kill(second)
    assert process.find(first) is None
    assert process.find(second) is None


def test_a_process_that_ignores_the_request_is_killed(fake_java: MakeJava, spawn: Spawn, tmp_path: Path) -> None:
    record = spawn(fake_java(IGNORES_TERM))
    wait_for_output(tmp_path / "java.log")
    process.terminate(record, 0.1)
    assert process.find(record) is None


def test_the_log_tail_is_the_last_twenty_lines(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("".join(f"line {n}\n" for n in range(10_000)), encoding="utf-8")
    tail = process.log_tail(log).splitlines()
    assert tail[0] == "line 9980"
    assert tail[-1] == "line 9999"
    assert process.log_tail(tmp_path / "none.log") == ""


def test_a_missing_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"the broker can't be started with .*nothing"):
        process.spawn(tmp_path / "nothing", [], tmp_path / "log", "broker")


def test_a_started_process_is_known_although_its_arguments_show_late(
    fake_java: MakeJava, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, looks = psutil.Process.cmdline, iter(range(100))
    monkeypatch.setattr(psutil.Process, "cmdline", lambda self: [] if next(looks) < 3 else shown(self))
    assert process.find(spawn(fake_java(WAITS))) is not None
