"""If a job ended on this machine, the console shows its end until the job reports from another machine."""

from __future__ import annotations

import pytest

from forebay.catalog import find_service
from forebay.codec import Unavailable
from forebay.console.job_address import WatchedJob
from forebay.console.reports import Reports
from forebay.console.watcher import JobWatcher
from forebay.platform.ports import HOST, free_port
from forebay.runtime.task.statistics import TaskFigures
from tests.console.watching import Restores

NOW = 1_700_000_000.0
END_MS = int(NOW * 1000) - 3_600_000
END = {"at_ms": END_MS, "what": "ended", "reason": "asked to stop", "exit_code": 0}


class Reader:
    """Reports that the test sets (a `ReportReader`)."""

    def __init__(self, reports: Reports | Exception) -> None:
        self._reports = reports

    def read(self, _application: str, _stages: int) -> Reports:
        if isinstance(self._reports, Exception):
            raise self._reports
        return self._reports


def reports_at(at_ms: int) -> Reports:
    return Reports((TaskFigures(0, 0, opened=1, at=at_ms),))


@pytest.mark.parametrize(
    ("reports", "state"),
    [
        (Reports(), "ended"),
        (reports_at(END_MS - 1_000), "ended"),
        (Unavailable("the broker is away"), "ended"),
        (reports_at(END_MS + 60_000), "down"),
    ],
)
def test_a_job_whose_page_does_not_answer(reports: Reports | Exception, state: str) -> None:
    service = find_service("user-sessions")
    job = WatchedJob(service, service.name, f"http://{HOST}:{free_port()}")
    watcher = JobWatcher(job, Reader(reports), Restores(), lambda *_: {}, lambda: [END])  # type: ignore[arg-type]
    watcher.look(NOW, 0)
    assert watcher.overview(NOW)["state"] == state
