"""The demo's child processes, each started in its own session, and ended with all processes that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psutil

from forebay.demo.errors import DemoError

_POLL_S = 0.1
_LAST_MEMBERS_S = 5.0
_TAIL_LINES = 20
_TAIL_BYTES = 32_768


class Child:
    """A command as a child process, which Ctrl-C in the terminal does not reach.

    Args:
        name: its name in messages.
        command: program and arguments.
        log: file for its output. The previous log is renamed to .1.
        grace_s: time that it may take to end, in seconds.
        environment: its environment variables; None: those of this process.
        only_shows: whether it has nothing to finish, so that the signal may end it while it starts.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        grace_s: float,
        environment: Mapping[str, str] | None = None,
        only_shows: bool = False,
    ) -> None:
        self.name = name
        self.log = log
        self._command = tuple(command)
        self._grace_s = grace_s
        self._environment = environment
        self._fine = (0, -signal.SIGTERM) if only_shows else (0,)
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False

    @property
    def pid(self) -> int:
        """The process id, which is also the session id. The process must have been started."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process. Raises DemoError if the log can't be written."""
        try:
            with _fresh(self.log) as output:
                self._process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise DemoError(f"the {self.name} can't be started, its log is {self.log}: {error.strerror}.") from error

    def exit_code(self) -> int | None:
        """Return the exit code; None while the process runs. It must have been started."""
        assert self._process is not None
        return self._process.poll()

    def require_alive(self) -> None:
        """Raise DemoError with the log's last lines if the process has ended."""
        code = self.exit_code()
        if code is not None:
            raise DemoError(f"the {self.name} ended ({_how(code)}): its log is {self.log}.", self.log_tail())

    def ask_to_end(self) -> None:
        """Send SIGTERM once, because a second one would make the process hurry. `stop` waits for the end."""
        if self._process is not None and not self._asked:
            self._asked = True
            self._process.terminate()

    def stop(self, hurry: Callable[[], bool]) -> None:
        """Send SIGTERM and wait. Kill the process and its children after `grace_s`, or if `hurry` returns true.

        Raises:
            DemoError: it failed while ending, or had to be killed, without `hurry`.
        """
        process = self._process
        if process is None:
            return
        if process.poll() is not None:
            end_session(process.pid, _LAST_MEMBERS_S)
            return
        self.ask_to_end()
        deadline = time.monotonic() + self._grace_s
        while process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(_POLL_S)
        code = process.poll()
        end_session(process.pid, 0.0 if code is None else _LAST_MEMBERS_S)
        process.wait()
        if code is None and not hurry():
            raise DemoError(
                f"the {self.name} did not end within {self._grace_s:.0f} s and was killed: its log is {self.log}.",
                self.log_tail(),
            )
        if code is not None and code not in self._fine and not hurry():
            raise DemoError(f"the {self.name} failed as it ended ({_how(code)}): see {self.log}.", self.log_tail())

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        try:
            data = self.log.read_bytes()[-_TAIL_BYTES:]
        except OSError:
            return ""
        return "\n".join(data.decode("utf-8", errors="replace").splitlines()[-_TAIL_LINES:])


def end_session(session: int, grace_s: float) -> None:
    """Kill all processes of a session that still run after `grace_s` seconds."""
    deadline = time.monotonic() + grace_s
    while _members(session) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for pid in _members(session):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _members(session: int) -> list[int]:
    members = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                members.append(pid)
    return members


def _fresh(log: Path) -> BinaryIO:
    with suppress(FileNotFoundError):
        log.replace(log.with_name(f"{log.name}.1"))
    return log.open("wb")


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
