"""The values that the demo shows, independent of their layout."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.demo.columns import Column, Record
from forebay.demo.figures import Figures
from forebay.demo.history import UNKNOWN, Trend
from forebay.http.health import Verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason of rejected records, and their number."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Results:
    """The latest records of an output topic, newest first, and their columns."""

    topic: str
    columns: tuple[Column, ...] = ()
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceView:
    """The current state of a service.

    Args:
        service: name of the service.
        state: whether the job reads and writes, and the reason if it does not.
        figures: statistics of its job; None until the job answers.
        trend: recent rates and latencies.
        stored: records in its input topics, including those of earlier runs; None: unknown.
        results: latest results of each output topic.
        reasons: reasons of records in .errors, latest first.
    """

    service: str
    state: Verdict
    figures: Figures | None = None
    trend: Trend = UNKNOWN
    stored: int | None = None
    results: tuple[Results, ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """The current state of the demo.

    Args:
        elapsed_s: seconds since the jobs were started.
        now_s: seconds since the epoch.
        services: one or more.
        hints: hints at further information.
    """

    elapsed_s: float
    now_s: float
    services: tuple[ServiceView, ...]
    hints: tuple[str, ...] = ()
