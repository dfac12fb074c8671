"""The handle of a job that runs in its own processes alongside a script or notebook."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.figures import Figures
from forebay.demo.probe import JobProbe
from forebay.http.health import Verdict
from forebay.interactive.commands import command_line, of_queries
from forebay.interactive.stores import CannotQuery, StoreView
from forebay.platform.ports import HOST, free_port
from forebay.utils.private import make_private_directory

READY_SECONDS = 180.0
_JOB_GRACE_S = 60.0
_QUERIES_GRACE_S = 10.0
_POLL_S = 0.1
_FIRST_REPORT_S = 3.0


class JobEnded(RuntimeError):
    """The job ended unexpectedly, or could not be stopped in an orderly way. The message quotes its log."""


class RunningJob:
    """A handle of a running job: a process with `forebay run`, and one with `forebay queries` once `store` was called.

    The job ends when `stop` is called, at the end of a `with` block, or when this process exits normally.

    Args:
        service: Name of the service.
        options: Options of `forebay run`, by name.
        environment: Environment of its processes.
        logs: Folder of their logs.
    """

    def __init__(self, service: str, options: Mapping[str, object], environment: Mapping[str, str], logs: Path) -> None:
        self.service = service
        self.application = str(options.get("application") or service)
        self._options = {"http_port": free_port(), **options}
        self._environment = environment
        self._logs = logs
        self._queries: tuple[Child, JobProbe] | None = None
        self._job, self._probe = self._start("run", self._options, _JOB_GRACE_S)
        self._end = weakref.finalize(self, _stop, [self._job])

    @property
    def log(self) -> Path:
        """The job's log file."""
        return self._job.log

    @property
    def is_running(self) -> bool:
        """Whether the job is still running."""
        return self._job.exit_code() is None

    @property
    def ready(self) -> Verdict:
        """Whether the job reads and commits and, if not, why."""
        return self._probe.state() if self.is_running else Verdict(False, "the job has ended")

    def wait_until_ready(self, seconds: float = READY_SECONDS) -> Self:
        """Wait until the job reads and commits, and return it.

        Raises:
            JobEnded: The job ended.
            TimeoutError: The job is not ready after `seconds`. The message says what it waits for.
        """
        _wait_for(self._job, self._probe, seconds)
        return self

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the job ends by itself, as a job with trigger="available-now" does.

        Raises:
            JobEnded: The job failed.
            TimeoutError: The job has not ended within `seconds`.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while (code := self._job.exit_code()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the job {self.application} has not ended within {seconds:.0f} s")
            time.sleep(_POLL_S)
        if code:
            raise JobEnded(_with_log(f"the job {self.application} failed (exit code {code})", self._job))

    def stop(self) -> None:
        """Stop the job after its current commit. Its next start resumes from there.

        Raises:
            JobEnded: The job failed.
        """
        children, self._queries = [self._job, *([self._queries[0]] if self._queries else [])], None
        self._end.detach()
        _stop(children)

    def metrics(self) -> Figures | None:
        """Return the job's key metrics since its start, or None if it has not committed anything yet.

        Workers report once a second. Before the first report, this waits for it, for at most three seconds.
        """
        deadline = time.monotonic() + _FIRST_REPORT_S
        while (figures := self._probe.figures()) is None and self.is_running and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return figures

    def store(self, name: str) -> StoreView:
        """Return a view of a store. The first call starts the process that answers queries."""
        return StoreView(name, self._query_address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<job {self.application} of {self.service}: {self.ready.reason}; log {self.log}>"

    def _start(self, command: str, options: Mapping[str, object], grace_s: float) -> tuple[Child, JobProbe]:
        make_private_directory(self._logs)
        line = command_line(command, self.service, options)
        log = self._logs / f"{command}-{self.application}.log"
        child = Child(f"`forebay {command} {self.service}`", line, log, grace_s, self._environment)
        child.start()
        return child, JobProbe(self.service, int(str(options["http_port"])))

    def _query_address(self) -> str:
        if self._queries is None:
            options = {**of_queries(self._options), "http_port": free_port()}
            self._queries = self._start("queries", options, _QUERIES_GRACE_S)
            self._end.detach()
            self._end = weakref.finalize(self, _stop, [self._job, self._queries[0]])
        child, probe = self._queries
        try:
            _wait_for(child, probe, READY_SECONDS)
        except (JobEnded, TimeoutError) as error:
            raise CannotQuery(f"the job's stores can't be read: {error}") from error
        return f"http://{HOST}:{probe.port}"


def _wait_for(child: Child, probe: JobProbe, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
    deadline = now() + seconds
    while True:
        try:
            child.require_alive()
        except DemoError as error:
            raise JobEnded(_with_log(str(error), child)) from error
        verdict = probe.state()
        if verdict.ok:
            return
        if now() > deadline:
            raise TimeoutError(f"the {child.name} is not ready within {seconds:.0f} s: {verdict.reason}")
        time.sleep(_POLL_S)


def _stop(children: list[Child]) -> None:
    failed: list[str] = []
    for child in children:
        child.ask_to_end()
    for child in children:
        try:
            child.stop(lambda: False)
        except DemoError as error:
            failed.append(_with_log(str(error), child))
    if failed:
        raise JobEnded("; ".join(failed))


def _with_log(message: str, child: Child) -> str:
    tail = child.log_tail()
    return f"{message}\n{tail}" if tail else message
