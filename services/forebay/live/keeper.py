"""Runs the job that the statements describe: stops it, starts it, and starts it again if it ends by itself."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from forebay.demo.children import Child, end_session
from forebay.demo.errors import DemoError
from forebay.demo.probe import JobProbe
from forebay.platform.ports import free_port

log = logging.getLogger(__name__)

_GRACE_S = 60.0
_POLL_S = 0.2
_ENDS = 20
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_REASONS = ("Error", "error", "refused", "store ")


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How the job ended by itself.

    Args:
        at: seconds since 1970.
    """

    exit_code: int
    at: float
    reason: str


class JobKeeper:
    """Runs one job at a time, as a child process.

    Args:
        application: the job's name.
        command: returns the command that runs a file of statements, with its health on a port.
        directory: holds the job's log, and which process it is: an engine that was killed leaves its job running.
    """

    def __init__(self, application: str, command: Callable[[Path, int], list[str]], directory: Path) -> None:
        self._application = application
        self._command = command
        self._log = directory / "job.log"
        self._process_file = directory / "job.json"
        self._changed = threading.Condition()
        self._wanted: Path | None = None
        self._is_over = False
        self._child: Child | None = None
        self._probe: JobProbe | None = None
        self.last_end: JobEnd | None = None
        """How the job ended by itself; None: it did not, since the statements last changed."""
        self.ends: deque[JobEnd] = deque(maxlen=_ENDS)
        """How the job ended by itself, oldest first, also before the statements last changed."""
        self._idle = threading.Event()
        """Set while no process of the job runs."""
        self._idle.set()
        self._thread = threading.Thread(target=self._keep, name=f"{application}-job", daemon=True)

    def start(self) -> None:
        """End the job of an engine that was killed, and begin to run what `want` names."""
        self._end_previous()
        self._thread.start()

    def want(self, file: Path | None) -> None:
        """Run the job of a file of statements in place of the current job; None: run none."""
        with self._changed:
            self._wanted, self.last_end = file, None
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop the job after its commit, and return once its process has ended."""
        self.want(None)
        self._idle.wait()

    def close(self) -> None:
        """Stop the job after its commit, and run no other."""
        with self._changed:
            self._wanted, self._is_over = None, True
            self._changed.notify_all()
        self._thread.join()

    @property
    def is_wanted(self) -> bool:
        """Whether a job is to run."""
        return self._wanted is not None

    @property
    def state(self) -> str:
        """What the job does now, in words."""
        child, probe, end = self._child, self._probe, self.last_end
        if child is None or probe is None:
            if self._wanted is None:
                return "not running"
            if end is None:
                return "starting"
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(end.at))
            return f"ended at {at} UTC with exit code {end.exit_code}, starts again: {end.reason}"
        verdict = probe.state()
        return "running" if verdict.ok else verdict.reason

    def _keep(self) -> None:
        pause = _FIRST_PAUSE_S
        while True:
            with self._changed:
                wanted = self._wanted
                if wanted is not None:
                    self._idle.clear()  # under the lock: after `stop` has taken the file away, no job may begin
            if wanted is None:
                with self._changed:
                    if self._is_over:
                        return
                    self._changed.wait_for(lambda: self._wanted is not None or self._is_over)
                continue
            began = time.monotonic()
            try:
                self._run(wanted)
            finally:
                self._idle.set()
            # Other statements: what made the job end before says nothing about them.
            if self._wanted is not wanted:
                pause = _FIRST_PAUSE_S
                continue
            # A job that ran for a while has probably lost a broker, and one that ends at once has a mistake that no
            # restart fixes.
            pause = _FIRST_PAUSE_S if time.monotonic() - began > _LONGEST_PAUSE_S else min(2 * pause, _LONGEST_PAUSE_S)
            with self._changed:
                self._changed.wait(pause)

    def _run(self, file: Path) -> None:
        """Run a file until it is no longer wanted or ends by itself."""
        port = free_port()
        child = Child(f"job {self._application}", self._command(file, port), self._log, _GRACE_S)
        try:
            child.start()
        except DemoError as error:
            log.error("%s: %s", self._application, error)
            self._note_end(JobEnd(-1, time.time(), str(error)))
            return
        self._note(child.pid)
        self._child, self._probe = child, JobProbe(self._application, port)
        log.info("%s: the job starts with %s; its log is %s", self._application, file, self._log)
        try:
            while child.exit_code() is None:
                with self._changed:
                    if self._changed.wait_for(lambda: self._wanted is not file, _POLL_S):
                        break
            code = child.exit_code()
            if code is not None and self._wanted is file:
                self._note_end(JobEnd(code, time.time(), _reason_of(child.log_tail())))
                log.error(
                    "%s: the job ended with exit code %d: %s", self._application, code, _reason_of(child.log_tail())
                )
        finally:
            self._child = self._probe = None
            with suppress(DemoError):
                child.stop(lambda: False)
            self._process_file.unlink(missing_ok=True)

    def _note_end(self, end: JobEnd) -> None:
        self.last_end = end
        self.ends.append(end)

    def _note(self, pid: int) -> None:
        with suppress(psutil.Error):
            self._process_file.write_text(json.dumps({"pid": pid, "since": psutil.Process(pid).create_time()}))

    def _end_previous(self) -> None:
        try:
            noted = json.loads(self._process_file.read_text())
            process = psutil.Process(int(noted["pid"]))
            # The system may have given the number to another process since.
            if process.create_time() != noted["since"]:
                return
        except (OSError, ValueError, KeyError, TypeError, psutil.Error):
            return
        log.warning("%s: stopping the job of an engine that was killed", self._application)
        with suppress(psutil.Error):
            process.terminate()
            process.wait(_GRACE_S)
        end_session(process.pid, 0.0)


def _reason_of(tail: str) -> str:
    """Return the line of a log's end that says why the job ended."""
    lines = [line for line in tail.splitlines() if line.strip()]
    named = [line for line in lines if any(word in line for word in _REASONS)]
    return (named or lines or ["its log is empty"])[-1].strip()[:500]
