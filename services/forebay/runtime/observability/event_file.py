"""The events of a job on this machine (starts, restarts and ends), in a file next to its log."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil

from forebay.http.health import Health, Restart
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.process.log_files import in_kubernetes, log_path
from forebay.utils.private import make_private_directory

_COUNT = 100
STARTED, ENDED = "started", "ended"


class EventFile:
    """The events of one job, a line of JSON each, oldest first.

    Args:
        home: directory of the platform.
        servers: the broker's address. A job with the same name on another broker is another job.
    """

    def __init__(self, home: Path, application: str, servers: str) -> None:
        self._servers = servers
        self._path = log_path(home, application).with_suffix(".events.jsonl")

    def append(self, what: str, reason: str, at_ms: int = 0, **more: Any) -> None:
        """Write an event, by default of now. If the file can't be written, the event is lost and the job continues."""
        event = {"at_ms": at_ms or time.time_ns() // 1_000_000, "what": what, "reason": reason, **more}
        line = json.dumps({**event, "servers": self._servers})
        with suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def begin(self) -> None:
        """Write the start of the job by this process, after the last events of earlier processes."""
        former = self._read_all()[-_COUNT:]
        with suppress(OSError):
            make_private_directory(self._path.parent)
            self._path.write_text("".join(json.dumps(event) + "\n" for event in former), encoding="utf-8")
        self.append(STARTED, "", pid=os.getpid(), process_since=psutil.Process().create_time())

    def read(self) -> list[dict[str, Any]]:
        """Return the events; an empty list if there is no file."""
        return [event for event in self._read_all() if event.get("servers") == self._servers]

    def _read_all(self) -> list[dict[str, Any]]:
        """Return the events on all brokers, without a line that was truncated by a kill."""
        events: list[dict[str, Any]] = []
        with suppress(OSError, UnicodeDecodeError):
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    event = json.loads(line)
                    if isinstance(event, dict) and {"at_ms", "what", "reason"} <= event.keys():
                        events.append(event)
        return events


def is_process_alive(start: dict[str, Any]) -> bool:
    """Return whether the process of a `STARTED` event still runs."""
    try:
        return psutil.Process(int(start["pid"])).create_time() == float(start["process_since"])
    except (psutil.Error, KeyError, TypeError, ValueError):
        return False


class _Job(Protocol):
    health: Health

    @property
    def application(self) -> str: ...
    @property
    def kafka(self) -> KafkaSettings: ...
    @property
    def home(self) -> Path | None: ...


@contextmanager
def record_events(jobs: Sequence[_Job]) -> Iterator[None]:
    """Write the events of jobs that have a home while they run, and how they end. In a pod nothing is written."""
    files = [
        (job, EventFile(job.home, job.application, job.kafka.bootstrap_servers))
        for job in jobs
        if job.home is not None and not in_kubernetes()
    ]
    for job, file in files:
        file.begin()
        job.health.listener = partial(_append, file)
    reason, exit_code = "it was asked to stop, or had read its inputs to their ends", 0
    try:
        yield
    except BaseException as error:
        reason, exit_code = str(error) or type(error).__name__, 1
        raise
    finally:
        for job, file in files:
            end = job.health.end  # that of a job which ended before the others of its process
            if end is None:
                file.append(ENDED, reason, exit_code=exit_code)
            else:
                file.append(ENDED, end.reason, end.at_ms, exit_code=end.exit_code)


def _append(file: EventFile, restart: Restart) -> None:
    file.append(restart.what, restart.reason, restart.at_ms)
