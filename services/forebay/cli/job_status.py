"""The status of the jobs on a broker: state, lag and events."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from forebay.codec import Unavailable
from forebay.console.groups import GroupOffsets
from forebay.console.reports import ReportReader, Reports, lag_by_topic
from forebay.console.verdicts import WORDS, State, judge
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver.broker_lag import read_inputs, read_lag
from forebay.runtime.observability.event_file import EventFile

_INTERNAL = re.compile(r"(.+)-(\d+)-task")
_EVENTS = 10
_COLOURS = {State.RUNNING: "green", State.STARTING: "yellow", State.TROUBLE: "yellow", State.DOWN: "red"}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The current status of a job.

    Args:
        since_ms: when it entered this state, ms since the epoch; 0 if unknown.
        lag: pending records, reported by the tasks, or computed from committed offsets if the job does not run. None:
            unknown.
        records_in, errors, late: records since the workers opened the tasks.
        events: of its processes on this machine, newest first.
    """

    application: str
    state: State
    reason: str
    since_ms: int
    exit_code: int | None
    lag: int | None
    records_in: int
    errors: int
    late: int
    events: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON."""
        return {**asdict(self), "state": self.state.value, "errors_share": self.errors_share}

    @property
    def errors_share(self) -> float | None:
        """The share of the read records that failed; None if no record was read."""
        return min(1.0, self.errors / self.records_in) if self.records_in else None


def read_jobs(kafka: KafkaSettings, home: Path, applications: Sequence[str], now_ms: int) -> list[JobStatus]:
    """Return the status of the named jobs, or of all with topics on the broker. Raises Unavailable, KafkaRefused."""
    sub_topologies = _sub_topologies_of(TopicAdmin(kafka).names())
    reader = ReportReader(GroupOffsets(kafka))
    jobs: list[JobStatus] = []
    for name in applications or sorted(sub_topologies):
        reports = reader.read(name, sub_topologies.get(name, 0))
        events = EventFile(home, name, kafka.bootstrap_servers).read()
        verdict = judge(reports, events, f"`forebay run {name}`", now_ms)
        lag = _lag_of(kafka, name, reports, verdict.state)
        jobs.append(
            JobStatus(
                name,
                verdict.state,
                verdict.reason,
                verdict.since_ms,
                verdict.exit_code,
                lag,
                sum(sum(item.records_in.values()) for item in reports.figures),
                sum(item.errors for item in reports.figures),
                sum(item.late for item in reports.figures),
                events[: -_EVENTS - 1 : -1],
            )
        )
    return jobs


def job_table(jobs: Sequence[JobStatus], with_events: bool) -> Table:
    """Return the jobs as a table, with the events of each job if `with_events`."""
    table = Table(title="jobs", title_justify="left", box=None, pad_edge=False)
    for column in ("", "state", "since", "lag", "failed", ""):
        table.add_column(column, overflow="fold")
    for job in jobs:
        state = WORDS.get(job.state, job.state.value)
        colour = _COLOURS.get(job.state)
        reason = job.reason if job.exit_code is None else f"exit code {job.exit_code}: {job.reason}"
        cells = (
            job.application,
            f"[{colour}]{state}[/{colour}]" if colour else state,
            _time(job.since_ms),
            "-" if job.lag is None else f"{job.lag:,}",
            _errors_text(job),
            "" if job.state is State.RUNNING else escape(reason),
        )
        table.add_row(*cells)
        for event in job.events if with_events else ():
            table.add_row("", f"  {event['what']}", _time(int(event["at_ms"])), "", "", escape(str(event["reason"])))
    return table


def _sub_topologies_of(topics: Sequence[str]) -> dict[str, int]:
    """Return the number of sub-topologies of each job that has internal changelogs among these topics."""
    sub_topologies: dict[str, int] = {}
    for topic in topics:
        match = _INTERNAL.fullmatch(topic)
        if match:
            sub_topologies[match[1]] = max(sub_topologies.get(match[1], 0), int(match[2]) + 1)
    return sub_topologies


def _lag_of(kafka: KafkaSettings, name: str, reports: Reports, state: State) -> int | None:
    """Return the lag that the tasks report, or if the job does not run, the lag of its committed offsets.

    None: unknown. A topic that can't be read must not hide the states of the jobs.
    """
    if state in (State.RUNNING, State.TROUBLE):
        reported = lag_by_topic(reports.figures)
        if reported is not None:
            return sum(reported.values())
    try:
        # Not the topics in the reports: a task names a topic only after it has read a record of it.
        lag = read_lag(kafka, name, read_inputs(kafka, name))
    except (Unavailable, KafkaRefused):
        return None
    return sum(lag.values()) if lag else None


def _errors_text(job: JobStatus) -> str:
    share = job.errors_share
    if not share:
        return f"{job.errors:,}"
    return f"{job.errors:,} ({max(share, 0.001):.1%} of {job.records_in:,})"


def _time(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000)) if at_ms else ""
