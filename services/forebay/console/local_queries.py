"""Query servers that the console starts when a page requests a job's stores and no server is specified."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence

from forebay.console.job_address import NoAnswer, WatchedJob, page
from forebay.platform.ports import HOST, free_port

_END_SECONDS = 10.0


class LocalQueries:
    """Starts a query server for a job, as a child that ends with the console.

    Args:
        command: returns the command of a query server for a job, on a port.
    """

    def __init__(self, command: Callable[[WatchedJob, int], Sequence[str]]) -> None:
        self._command = command
        self._running: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self._answered: set[str] = set()
        self._lock = threading.Lock()

    def address(self, job: WatchedJob) -> str:
        """Return the URL of the job's query server. Start the server unless it runs."""
        if job.queries:
            return job.queries
        with self._lock:
            running = self._running.get(job.name)
            if running is None or running[0].poll() is not None:
                port = free_port()
                process = subprocess.Popen(self._command(job, port), stdin=subprocess.DEVNULL)
                running = self._running[job.name] = (process, f"http://{HOST}:{port}")
            return running[1]

    def starting(self, job: WatchedJob) -> str:
        """Return why the query server of a job is not ready yet; "" if it is. Start the server if necessary."""
        address = self.address(job)
        if job.queries or address in self._answered:
            return ""  # the request itself will report the server's answer, or that it does not answer
        try:
            page(f"{address}/healthz")
        except NoAnswer:
            return "the query server of this job is starting: retry in a few seconds"
        self._answered.add(address)
        return ""

    def close(self) -> None:
        """Stop the query servers that were started."""
        with self._lock:
            processes = [process for process, _ in self._running.values()]
            self._running.clear()
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
