"""The state of a job, derived from its tasks' reports and the events of its processes on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forebay.console.reports import Reports
from forebay.runtime.observability.event_file import ENDED, STARTED, is_process_alive

_SILENT_MS = 15_000
_CLOCKS_MS = 2_000
"""The maximum difference between the clocks of a worker and of the process that wrote the end, in ms."""


class State(Enum):
    """The state of a job."""

    RUNNING = "running"
    STARTING = "starting"
    TROUBLE = "trouble"
    DOWN = "down"
    ENDED = "ended"
    NEVER = "never"


WORDS = {State.TROUBLE: "waiting", State.NEVER: "never started"}
"""The words for states that users do not see by their names."""


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """A job's state, with its reason.

    Args:
        since_ms: when it entered the state, ms since the epoch; 0 if unknown.
        exit_code: exit code of a job that ended.
    """

    state: State
    reason: str
    since_ms: int = 0
    exit_code: int | None = None


def judge(reports: Reports, events: Sequence[Mapping[str, Any]], command: str, now_ms: int) -> JobVerdict:
    """Return the state of a job.

    Args:
        events: events of the job's processes on this machine, oldest first; empty if it runs elsewhere.
        command: command that starts the job, for the reason.
    """
    end = end_of(events)
    if end is not None and is_last(end, reports):
        return end
    start = next((event for event in reversed(events) if event["what"] == STARTED), None)
    if start is not None and end is None and int(start["at_ms"]) > reports.told_at_ms:
        since_ms = int(start["at_ms"])
        if is_process_alive(dict(start)):
            return JobVerdict(State.STARTING, "starting: no task has begun yet", since_ms)
        killed = f"its process ended before a task began, without a reason: see its log, or start it with {command}"
        return JobVerdict(State.DOWN, killed, since_ms)
    if not reports.figures:
        return JobVerdict(State.NEVER, f"no task has reported yet: start it with {command}")
    silent_ms = now_ms - reports.told_at_ms
    if silent_ms > _SILENT_MS:
        silent = f"its tasks have reported nothing for {silent_ms // 1000} s: start it again, or see its log"
        return JobVerdict(State.DOWN, silent, reports.told_at_ms)
    if reports.trouble:
        return JobVerdict(State.TROUBLE, reports.trouble)
    return JobVerdict(State.RUNNING, "the tasks read and commit", reports.opened_ms)


def is_last(end: JobVerdict, reports: Reports) -> bool:
    """Return whether no task has reported since an end on this machine. Otherwise, the job runs elsewhere."""
    return end.since_ms >= reports.told_at_ms - _CLOCKS_MS


def end_of(events: Sequence[Mapping[str, Any]]) -> JobVerdict | None:
    """Return how a job's last process on this machine ended; None if it wrote no end."""
    if not events or events[-1]["what"] != ENDED:
        return None
    last = events[-1]
    return JobVerdict(State.ENDED, str(last["reason"]), int(last["at_ms"]), int(last.get("exit_code", 1)))
