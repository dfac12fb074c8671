"""The view as plain lines."""

from __future__ import annotations

from forebay.demo import units
from forebay.demo.figures import Figures
from forebay.demo.view import Results, ServiceView, View

_NAMED_COLUMNS = 5


def plain_lines(view: View) -> list[str]:
    """Return a line of statistics for each service, and a line with its latest result if there is one."""
    return [f"{units.format_elapsed(view.elapsed_s)} {line}" for service in view.services for line in _lines(service)]


def totals(view: View) -> list[str]:
    """Return a line with the totals of each service's job."""
    return [_total(service.service, service.figures, service.stored) for service in view.services if service.figures]


def _total(name: str, figures: Figures, stored: int | None) -> str:
    counts = f"{figures.records_in:,} events in, {figures.outputs:,} results, {figures.errors:,} errors"
    rest = f"{figures.late:,} late, {figures.duplicates:,} duplicates"
    return f"{name}: {counts}, {rest}; {units.number(stored)} events are stored in all"


def _lines(service: ServiceView) -> list[str]:
    if service.figures is None:
        return [f"{service.service}: {service.state.reason}"]
    figures, trend = service.figures, service.trend
    line = ", ".join(
        (
            f"in {units.rate(trend.in_rate)}",
            f"out {units.rate(trend.out_rate)}",
            f"lag {units.number(figures.lag)}",
            f"commits {units.rate(trend.commit_rate)}",
            f"latency p50 {units.seconds(trend.latency_p50_s)} p95 {units.seconds(trend.latency_p95_s)}",
            f"state {units.number(figures.state_rows)} rows {units.size(figures.state_bytes)}",
            f"stream time {units.clock(figures.stream_time_s)}",
            f"errors {figures.errors:,}",
            f"late {figures.late:,}",
            f"duplicates {figures.duplicates:,}",
            f"restarts {figures.restarts:,}",
            f"stored {units.number(service.stored)} events",
        )
    )
    trouble = "" if service.state.ok else f" ({service.state.reason})"
    return [f"{service.service}: {line}{trouble}", *_latest(service)]


def _latest(service: ServiceView) -> list[str]:
    return [f"{service.service} latest: {_fields(results)}" for results in service.results if results.records]


def _fields(results: Results) -> str:
    named = ((column.title, column.text(results.records[0])) for column in results.columns[:_NAMED_COLUMNS])
    return ", ".join(f"{title} {text}" for title, text in named if text)
