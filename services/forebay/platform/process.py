"""Starts, recognises and ends a detached Java process."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from forebay.platform.errors import PlatformError
from forebay.platform.state import ProcessRecord
from forebay.utils.private import UMASK, make_private_file

_TOKEN_OPTION = "-Dforebay.instance="
_ARGUMENTS_SECONDS = 10.0
_TAIL_LINES = 20
_TAIL_BYTES = 32_768


def spawn(java: Path, arguments: Sequence[str], log: Path, component: str) -> ProcessRecord:
    """Start java detached from the terminal, and append its output to `log`.

    Raises:
        PlatformError: the process can't be started.
    """
    token = secrets.token_hex(8)
    try:
        make_private_file(log)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [java, f"{_TOKEN_OPTION}{token}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=UMASK,
            )
    except OSError as error:
        raise PlatformError(f"the {component} can't be started with {java}: {error}.") from error
    record = ProcessRecord(process.pid, token)
    _await_arguments(process, record)
    return record


def _await_arguments(process: subprocess.Popen[bytes], record: ProcessRecord) -> None:
    """Wait until the system shows the process's arguments, which it does not do just after the start."""
    deadline = time.monotonic() + _ARGUMENTS_SECONDS
    while find(record) is None and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def find(record: ProcessRecord | None) -> psutil.Process | None:
    """Return the recorded process if it still runs; None if another process has its pid now."""
    if record is None:
        return None
    try:
        process = psutil.Process(record.pid)
        # A child that has ended stays a zombie until its parent waits for it.
        if process.status() == psutil.STATUS_ZOMBIE:
            process.wait(0)
            return None
        return process if f"{_TOKEN_OPTION}{record.token}" in process.cmdline() else None
    except (psutil.Error, OSError):
        return None


def terminate(record: ProcessRecord | None, grace_seconds: float) -> None:
    """Send SIGTERM to the process if it runs, and kill it after `grace_seconds`."""
    process = find(record)
    if process is None:
        return
    try:
        process.terminate()
        process.wait(grace_seconds)
    except psutil.TimeoutExpired:
        kill(record)
    except psutil.NoSuchProcess:
        return


def kill(record: ProcessRecord | None) -> None:
    """Kill the process if it runs, as a crash would."""
    process = find(record)
    if process is None:
        return
    try:
        process.kill()
        process.wait(30)
    except psutil.NoSuchProcess:
        return


def log_tail(log: Path) -> str:
    """Return the last lines of a log; "" if there is no log."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-_TAIL_LINES:])
