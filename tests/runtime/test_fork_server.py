"""A forked process has the command, streams and environment of a normally started Python, and ends with its streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from forebay.runtime.launch import forking
from forebay.runtime.launch.fork_client import VARIABLE
from forebay.runtime.launch.worker_python import choose_python

pytestmark = pytest.mark.long

SHOWN = """
import json, os, sys, threading
import confluent_kafka, pyspark.worker
report = {
    "arguments": sys.argv[1:], "directory": os.getcwd(), "variable": os.environ.get("GIVEN"), "hash": hash("text"),
    "name": __name__, "path": sys.path, "threads": len(os.listdir("/proc/self/task")) if os.path.exists("/proc") else 1,
    "read": sys.stdin.read(),
}
print("an error", file=sys.stderr)
print(json.dumps(report))
"""
CONVERTS = """
import json, sys
import pyarrow
pyarrow.array([1])
before = "pandas" in sys.modules
import pandas
series = pyarrow.array(pandas.Series([1.0, float("nan")]))
shape = list(pyarrow.table({"a": [1]}).to_pandas().shape)
loaders = [type(pandas.__loader__).__name__, type(pandas.__spec__.loader).__name__]
print(json.dumps([before, series.null_count, shape, *loaders]))
"""
WAITS = "import sys, time\nprint('waits', flush=True)\nsys.stdin.read()\ntime.sleep(600 * ('on' in sys.argv))\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("modules")
    (place / "shown.py").write_text(SHOWN)
    (place / "converts.py").write_text(CONVERTS)
    (place / "waits.py").write_text(WAITS)
    return place


@pytest.fixture(scope="module")
def serve(place: Path) -> Iterator[dict[str, str]]:
    """Yield an environment in which Python processes are forked by a fork server."""
    environment = dict(os.environ)
    with closing(Started(environment)) as started:
        environment["SERVER"] = str(started.server.pid)
        yield {**environment, "PYTHONPATH": os.pathsep.join([str(place), environment.get("PYTHONPATH", "")])}


class Started:
    """A fork server for one environment."""

    def __init__(self, environment: dict[str, str]) -> None:
        environment.pop(VARIABLE, None)
        choose_python(environment)
        others, forking._SERVERS[:] = forking._SERVERS[:], []
        try:
            forking.start_fork_server(environment)
            (self.server,) = forking._SERVERS
        finally:
            forking._SERVERS[:] = others

    def close(self) -> None:
        forking._end(self.server)


def spawn(environment: dict[str, str], *command: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [environment["PYSPARK_PYTHON"], *command],
        env=environment,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(check: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_forked_process_equals_a_started_process(serve: dict[str, str], tmp_path: Path) -> None:
    reports = []
    for environment in (serve, {name: value for name, value in serve.items() if name != VARIABLE}):
        given = {**environment, "GIVEN": "an\nodd välue", "PYTHONHASHSEED": "0"}
        process = spawn(given, "-m", "shown", "two words", "", cwd=tmp_path)
        output, errors = process.communicate("its input", timeout=60)
        assert (errors, process.returncode) == ("an error\n", 0)
        reports.append(json.loads(output))
    assert reports[0].pop("path")[:2] == reports[1].pop("path")[:2]
    assert reports[0].pop("threads") == reports[1].pop("threads") == 1
    assert reports[0] == reports[1]
    assert reports[0]["name"] == "__main__"


def test_pyarrow_imports_no_pandas_but_detects_a_later_import(serve: dict[str, str]) -> None:
    process = spawn(serve, "-m", "converts")
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    assert json.loads(output) == [False, 1, [1, 1], "SourceFileLoader", "SourceFileLoader"]


def waiting(serve: dict[str, str], *arguments: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """Start a process that waits for input. Return it and its fork."""
    process = spawn(serve, "-m", "waits", *arguments)
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    (fork,) = psutil.Process(int(serve["SERVER"])).children()
    return process, fork


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process can't change how it is listed")
def test_it_is_listed_under_its_command(serve: dict[str, str]) -> None:
    process, fork = waiting(serve, "two words")
    assert [part for part in fork.cmdline() if part][-3:] == ["-m", "waits", "two words"]
    process.communicate(timeout=20)


def test_it_ends_with_its_input(serve: dict[str, str]) -> None:
    process, fork = waiting(serve)
    process.communicate(timeout=20)
    until(lambda: not fork.is_running())


def test_a_process_that_waits_for_a_fork_ends_with_it(serve: dict[str, str]) -> None:
    process, fork = waiting(serve, "on")
    fork.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere its streams alone end it")
def test_a_fork_ends_with_the_process_that_waits_for_it(serve: dict[str, str]) -> None:
    process, fork = waiting(serve, "on")
    process.terminate()
    process.wait(20)
    until(lambda: not fork.is_running())
    process.communicate(timeout=20)


def test_if_a_server_ends_before_it_has_forked_the_caller_starts_the_process(place: Path) -> None:
    environment = dict(os.environ)
    server = Started(environment)
    environment["PYTHONPATH"] = os.pathsep.join([str(place), environment.get("PYTHONPATH", "")])
    server.server.send_signal(signal.SIGSTOP)
    process = spawn(environment, "-m", "shown")
    asking = psutil.Process(process.pid)
    until(lambda: any("fork_client" in part for part in asking.cmdline()))
    server.server.kill()
    output, _ = process.communicate("its input", timeout=60)
    assert json.loads(output)["read"] == "its input"
    server.close()


def test_without_a_server_a_process_is_started(place: Path) -> None:
    environment = dict(os.environ)
    server = Started(environment)
    environment["PYTHONPATH"] = os.pathsep.join([str(place), environment.get("PYTHONPATH", "")])
    server.server.kill()
    server.server.wait()
    assert Path(environment[VARIABLE]).exists(), "killed, it has left its socket"
    output, _ = spawn(environment, "-m", "shown").communicate("", timeout=60)
    assert json.loads(output)["name"] == "__main__"
    server.close()


def test_it_ends_with_its_driver_and_not_by_a_signal_that_is_the_driver_s() -> None:
    environment = dict(os.environ)
    server = Started(environment)
    process = psutil.Process(server.server.pid)
    until(lambda: "forebay.runtime.launch.fork_server" in " ".join(process.cmdline()))
    probe = spawn({**environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}, "-m", "platform")
    assert probe.wait(60) == 0, "it serves"
    process.send_signal(signal.SIGTERM)
    assert spawn(environment, "-m", "platform").wait(60) == 0
    assert process.is_running()
    folder = Path(environment[VARIABLE]).parent
    server.close()
    assert not process.is_running()
    assert not folder.exists()


def test_without_a_folder_for_a_socket_there_is_no_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(forking, "make_socket_directory", lambda prefix: tempfile.mkdtemp(prefix=prefix, dir=long))
    environment = dict(os.environ)
    environment.pop(VARIABLE, None)
    choose_python(environment)
    monkeypatch.setattr(forking, "_SERVERS", [])
    forking.start_fork_server(environment)
    assert VARIABLE not in environment
    assert "one by one" in caplog.text
    assert list(long.iterdir()) == []


def test_a_python_chosen_by_the_user_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_SERVERS", [])
    environment = {"PYSPARK_PYTHON": "/opt/python"}
    forking.start_fork_server(environment)
    assert environment == {"PYSPARK_PYTHON": "/opt/python"}
