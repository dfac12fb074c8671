"""A table with a row for each service, with its most important statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from forebay.demo import units
from forebay.demo.figures import Figures
from forebay.demo.history import Trend
from forebay.demo.view import ServiceView, View

_BORDER = 2
_PADDING = 2
_ALARMING = "yellow"


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    width: int
    text: Callable[[Figures, Trend], str]
    style: Callable[[Figures], str] = lambda _: ""


_COLUMNS = (
    _Column("in/s", 6, lambda _, trend: units.short(trend.in_rate)),
    _Column("out/s", 6, lambda _, trend: units.short(trend.out_rate)),
    _Column("lag", 6, lambda figures, _: units.short(figures.lag)),
    _Column("commits", 7, lambda _, trend: units.short(trend.commit_rate)),
    _Column("latency", 7, lambda _, trend: units.seconds(trend.latency_p50_s)),
    _Column("errors", 6, lambda figures, _: units.short(figures.errors), lambda f: _ALARMING if f.errors else ""),
    _Column("late", 5, lambda figures, _: units.short(figures.late)),
    _Column("rows", 6, lambda figures, _: units.short(figures.state_rows)),
    _Column("state", 8, lambda figures, _: units.size(figures.state_bytes)),
    _Column("p95", 7, lambda _, trend: units.seconds(trend.latency_p95_s)),
    _Column("repeated", 8, lambda figures, _: units.short(figures.duplicates)),
    _Column("restarts", 8, lambda figures, _: units.short(figures.restarts), lambda f: _ALARMING if f.restarts else ""),
    _Column("stream time", 11, lambda figures, _: units.clock(figures.stream_time_s)),
)


def lines_of(view: View) -> int:
    """Return the number of lines of the table."""
    return len(view.services) + 1 + _BORDER


def table(view: View, width: int) -> RenderableType:
    """Return a table with a row for each service, and as many statistics as fit into `width` characters."""
    names = 2 + max(len(service.service) for service in view.services)
    columns = _fitting(width - _BORDER - _PADDING - names)
    head = Text(f"{'service':{names}}" + "".join(f" {column.title:>{column.width}}" for column in columns), style="dim")
    rows = [head, *(_row(service, names, columns) for service in view.services)]
    for row in rows:
        row.no_wrap, row.overflow = True, "ellipsis"
    return Panel(Group(*rows), box=box.ROUNDED)


def _row(service: ServiceView, names: int, columns: list[_Column]) -> Text:
    style = "green" if service.state.ok else _ALARMING
    row = Text.assemble(("● " if service.state.ok else "○ ", style), (f"{service.service:{names - 2}}", "bold"))
    figures = service.figures
    if figures is None or not service.state.ok:
        return row.append(f" {service.state.reason}", style=style)
    for column in columns:
        row.append(f" {column.text(figures, service.trend):>{column.width}}", style=column.style(figures))
    return row


def _fitting(width: int) -> list[_Column]:
    fitting: list[_Column] = []
    for column in _COLUMNS:
        width -= column.width + 1
        if width < 0:
            break
        fitting.append(column)
    return fitting
