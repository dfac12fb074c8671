"""A job that runs as a process of the command line, with its log and functions to end it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil

ROOT = Path(__file__).resolve().parent.parent
PYTHON_PATH = os.pathsep.join([str(ROOT / "services"), str(ROOT)])
"""PYTHONPATH with which processes import the code under test, whether or not it is installed."""
START_SECONDS = 240.0


class JobProcess:
    """`forebay run`, or another command that runs a job, with JSON logs in a file.

    Args:
        arguments: Arguments of the command.
        log: File to which its stderr is appended.
        environment: Additional environment variables.
    """

    def __init__(self, arguments: list[str], log: Path, environment: dict[str, str], command: str = "run") -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = psutil.Popen(
                [sys.executable, "-m", "forebay.cli.main", command, *arguments, "--log-format", "json"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONPATH": PYTHON_PATH, **environment},
                start_new_session=True,
            )

    def text(self) -> str:
        """Return the log's text."""
        with self._log.open("rb") as log:
            log.seek(self._offset)
            return log.read().decode(errors="replace")

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's records."""
        lines = self.text().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith('{"time"')]

    def messages(self) -> list[str]:
        """Return the log's messages."""
        return [line["message"] for line in self.lines()]

    def progress_reports(self) -> list[dict[str, Any]]:
        """Return the progress records of the log, which contain sums since the start. There is one about every 2 s."""
        return [line for line in self.lines() if "records_in" in line]

    def total(self, name: str) -> int:
        """Return the newest value of one of these sums."""
        progress_reports = self.progress_reports()
        return int(progress_reports[-1][name]) if progress_reports else 0

    def records_in(self) -> int:
        """Return the number of records read, as last reported."""
        return self.total("records_in")

    def is_running(self) -> bool:
        """Return whether the driver is running."""
        return self.process.poll() is None

    def until(self, check: Callable[[], bool], description: str, seconds: float = START_SECONDS) -> None:
        """Wait until a condition is true. Fail if the job ends first."""
        deadline = time.monotonic() + seconds
        while not check():
            assert self.is_running(), f"the job ended ({self.process.returncode}) before: {description}\n{self.text()}"
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {description}\n{self.text()}"
            time.sleep(0.01)

    def until_commits(self, count: int = 1, seconds: float = START_SECONDS) -> None:
        """Wait until the job has reported this number of further commits."""
        wanted = self.total("commits") + count
        self.until(lambda: self.total("commits") >= wanted, f"{count} commits are through", seconds)

    def finish(self, seconds: float = START_SECONDS) -> int:
        """Wait for the end and return the exit code."""
        try:
            return int(self.process.wait(seconds))
        except psutil.TimeoutExpired:
            raise AssertionError(f"the job did not end within {seconds:.0f} s\n{self.text()}") from None

    def terminate(self, seconds: float = 180.0) -> int:
        """End the job with SIGTERM, if it is still running, and return its exit code."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.send_signal(signal.SIGTERM)
        return self.finish(seconds)

    def jvm(self) -> psutil.Process:
        """Return Spark's JVM."""
        (result,) = [p for p in self.process.children(recursive=True) if "java" in _name(p)]
        return result

    def workers(self) -> list[psutil.Process]:
        """Return the Python workers that run tasks: children of Spark's worker daemon."""
        daemons = [p for p in self.process.children(recursive=True) if "pyspark.daemon" in _command(p)]
        return [worker for daemon in daemons for worker in _children(daemon)]

    def sources(self) -> list[psutil.Process]:
        """Return the Python process that plans the leases, once it exists."""
        return [p for p in _children(self.process, recursive=True) if "python_streaming_source_runner" in _command(p)]

    def kill(self) -> None:
        """Kill driver, JVM and Python workers at the same time, like the failure of a machine."""
        with contextlib.suppress(psutil.NoSuchProcess):
            tree = [self.process, *self.process.children(recursive=True)]
            _kill(tree)

    def kill_driver_and_jvm(self) -> None:
        """Kill driver and JVM, but not the Python workers, which must notice it."""
        _kill([self.process, self.jvm()])

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze all processes of the job within the context, like a paused machine."""
        stopped: list[psutil.Process] = []
        running: list[psutil.Process] = [self.process]
        while running:
            for process in running:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()
            stopped += running
            running = [p for p in _children(self.process, recursive=True) if p not in stopped]
        try:
            yield
        finally:
            for process in reversed(stopped):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def http(self, path: str, body: bytes | None = None) -> tuple[int, str]:
        """Send an HTTP request (POST if there is a body), and return status and body of the response."""
        match = re.search(r"http://[\d.]+:\d+", "\n".join(self.messages()))
        assert match is not None, "the job has not logged its HTTP port"
        try:
            with urlopen(match.group() + path, body, timeout=10) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return str(process.name())
    return ""


def _command(process: psutil.Process) -> str:
    """Return the command line of a process. That of a forked child is its parent's until it calls exec."""
    with contextlib.suppress(psutil.NoSuchProcess):
        command = " ".join(process.cmdline())
        return "" if "fork_client" in command else command
    return ""


def _children(process: psutil.Process, *, recursive: bool = False) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return list(process.children(recursive=recursive))
    return []


def _kill(processes: list[Any]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, 30)
