"""What the demo shows: plain values, ready to be laid out."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.demo.columns import Column, Record
from forebay.demo.figures import Figures
from forebay.demo.history import UNKNOWN, Trend
from forebay.http.health import Verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """Why records could not be used, and how often that was seen."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Results:
    """Some of the latest records of an output topic, newest first, and what is shown of each."""

    topic: str
    columns: tuple[Column, ...] = ()
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceView:
    """One service at one moment.

    Args:
        service: its name.
        state: whether the job reads and writes, and its reason if it does not.
        figures: of its job; None until it answers.
        trend: rates and times lately.
        stored: records in its input topics, of earlier runs too; None while unknown.
        results: the latest ones, for each output topic.
        reasons: why records ended in .errors, latest first.
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
    """Everything at one moment.

    Args:
        elapsed_s: seconds since the jobs were started.
        now_s: seconds since the epoch.
        services: one or more.
        hints: where to look further.
    """

    elapsed_s: float
    now_s: float
    services: tuple[ServiceView, ...]
    hints: tuple[str, ...] = ()
