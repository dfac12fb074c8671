"""Starts and stops the job that the statements describe, and restarts it if it ends unexpectedly."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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
    """An unexpected end of the job.

    Args:
        at: seconds since the epoch.
    """

    exit_code: int
    at: float
    reason: str


class JobKeeper:
    """Runs one job at a time, as a child process.

    Args:
        application: the job's name.
        command: returns the command that runs a file of statements, with its health on a port.
        directory: directory of the job's log and process id, because the job of an engine that was killed runs on.
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
        """The last unexpected end of the job since the statements changed; None if there was none."""
        self.ends: deque[JobEnd] = deque(maxlen=_ENDS)
        """The unexpected ends of the job, oldest first, including those before the statements changed."""
        self._idle = threading.Event()
        """Set while no process of the job runs."""
        self._idle.set()
        self._thread = threading.Thread(target=self._keep, name=f"{application}-job", daemon=True)

    def start(self) -> None:
        """End the job of an engine that was killed, and begin to run the file that `want` sets."""
        self._end_previous()
        self._thread.start()

    def want(self, file: Path | None) -> None:
        """Run the job of a file of statements instead of the current job; None: run no job."""
        with self._changed:
            self._wanted, self.last_end = file, None
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop the job after its current commit, and wait until its process has ended."""
        self.want(None)
        self._idle.wait()

    def close(self) -> None:
        """Stop the job after its current commit, and run no other."""
        with self._changed:
            self._wanted, self._is_over = None, True
            self._changed.notify_all()
        self._thread.join()

    @property
    def is_wanted(self) -> bool:
        """Whether a job should run."""
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
                    self._idle.clear()  # under the lock, because no job may start after `stop` has removed the file
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
            # A job that ran for a while has probably lost a broker, and one that ends at once has a mistake that no
            # restart fixes.
            pause = _FIRST_PAUSE_S if time.monotonic() - began > _LONGEST_PAUSE_S else min(2 * pause, _LONGEST_PAUSE_S)
            with self._changed:
                # The condition is also true if it became true before this wait, when there was nothing to notify.
                if self._changed.wait_for(partial(self._has_other_work, wanted), pause):
                    # The statements have changed, so the former reason of the job's end does not apply any more.
                    pause = _FIRST_PAUSE_S

    def _has_other_work(self, file: Path) -> bool:
        """Return whether a file of statements must not run again."""
        return self._is_over or self._wanted is not file

    def _run(self, file: Path) -> None:
        """Run a file until another is wanted or the job ends."""
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
            # The system may have reused the process id since.
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
    """Return the line with the reason of the job's end, from the end of a log."""
    lines = [line for line in tail.splitlines() if line.strip()]
    named = [line for line in lines if any(word in line for word in _REASONS)]
    return (named or lines or ["its log is empty"])[-1].strip()[:500]
