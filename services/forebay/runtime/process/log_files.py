"""The file that a job's driver and workers write their log to, in addition to stderr."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from logging.handlers import RotatingFileHandler, WatchedFileHandler
from pathlib import Path

from forebay.utils.private import make_private_directory

_VARIABLE = "FOREBAY_LOG_FILE"
"""`<pid of the driver>:<path>`; workers inherit it."""
_ROTATE_BYTES = 20_000_000


def log_path(home: Path, application: str) -> Path:
    """Return the path of a job's log, as `forebay run` writes it. The previous log is next to it (.1)."""
    return home / "logs" / f"run-{application}.log"


def name_log(home: Path, applications: Sequence[str]) -> None:
    """Set the log file in the environment, which Spark's workers inherit from the JVM. In a pod, stderr is enough.

    Nothing is written yet, because the JVM starts while the services are still being checked.
    """
    if not in_kubernetes():
        os.environ[_VARIABLE] = f"{os.getpid()}:{log_path(home, applications[0])}"


def keep_log(home: Path, applications: Sequence[str]) -> None:
    """Let this process and its workers write their log to a file. Several jobs of a process share one file.

    In a pod, or if the directory can't be written, only stderr is used.
    """
    if in_kubernetes():
        return
    name_log(home, applications)
    paths = [log_path(home, name) for name in applications]
    with suppress(OSError):
        make_private_directory(home)
        make_private_directory(home / "logs")
        for path in paths:
            if path.exists() or path.is_symlink():
                path.replace(path.with_suffix(".log.1"))
        paths[0].touch(0o600)
        for path in paths[1:]:
            path.symlink_to(paths[0].name)


def log_file_handler() -> logging.Handler | None:
    """Return the handler that writes to the log file of this process's job; None if it has no file."""
    pid, _, path = os.environ.get(_VARIABLE, "").partition(":")
    if not path or not os.access(path, os.W_OK):
        return None
    if pid == str(os.getpid()):
        return RotatingFileHandler(path, maxBytes=_ROTATE_BYTES, backupCount=1, encoding="utf-8")
    return WatchedFileHandler(path, encoding="utf-8")


def in_kubernetes() -> bool:
    """Return whether this process runs in a pod."""
    return "KUBERNETES_SERVICE_HOST" in os.environ


def log_of_process(environment: Mapping[str, str], directory: Path) -> Path | None:
    """Return the log file of a job's process; None if the process belongs to no job.

    Args:
        environment: environment variables of the process.
        directory: directory in which the process was started.
    """
    path = environment.get(_VARIABLE, "").partition(":")[2]
    return (directory / path).resolve() if path else None
