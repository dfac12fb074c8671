"""Panels of the demo's screen: a service's statistics, latest results, and reasons of rejected records."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forebay.demo import units
from forebay.demo.columns import Column
from forebay.demo.view import Results, ServiceView

_BORDER = 2
_REASONS = 3
_GAP = 2
FIGURE_LINES = 5 + _BORDER
REASON_LINES = _REASONS + _BORDER
WAITING = "figures come with the first commits; Spark needs half a minute to start"

_Cell = tuple[str, str, str]


def figures(service: ServiceView, now_s: float, width: int) -> RenderableType:
    """Return a panel with all statistics of a service, in FIGURE_LINES lines."""
    state = (service.state.reason, "green" if service.state.ok else "yellow")
    title = Text.assemble((service.service, "bold"), ": ", state)
    title.truncate(width - 2 * _BORDER - _GAP, overflow="ellipsis")
    if service.figures is None:
        middle = "\n" * ((FIGURE_LINES - _BORDER) // 2)
        waiting = Text(f"{middle}{WAITING}", style="dim", justify="center")
        return Panel(waiting, title=title, title_align="left", box=box.ROUNDED, height=FIGURE_LINES)
    grids: list[Table] = []
    side_by_side = Table.grid(expand=True, padding=(0, _GAP))
    for cells in _cells(service, now_s):
        side_by_side.add_column()
        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        for label, value, style in cells:
            grid.add_row(label, Text(value, style=style))
        grids.append(grid)
    side_by_side.add_row(*grids)
    return Panel(side_by_side, title=title, title_align="left", box=box.ROUNDED)


def results(service: ServiceView, shown: Results, width: int, lines: int) -> Panel:
    """Return a panel with the latest records of an output topic, in `lines` lines."""
    table = Table(box=None, expand=True, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    columns = _fitting(shown.columns, width - 2 * _BORDER)
    for column in columns:
        table.add_column(column.title, no_wrap=True, overflow="ellipsis", min_width=column.width)
    for record in shown.records[: lines - _BORDER - 1]:
        table.add_row(*(column.text(record) for column in columns))
    content: RenderableType = table if columns else Text("none yet", style="dim")
    title = f"latest of {service.service}: {shown.topic}"
    return Panel(content, title=title, title_align="left", box=box.ROUNDED, height=lines)


def reasons(service: ServiceView) -> RenderableType:
    """Return a panel with the reasons of rejected records, in REASON_LINES lines."""
    lines = [Text(f"{reason.count:,} x {reason.text}", no_wrap=True, overflow="ellipsis") for reason in service.reasons]
    shown: RenderableType = Group(*lines[:_REASONS]) if lines else Text("none", style="dim")
    title = f"latest in {service.service}.errors"
    return Panel(shown, title=title, title_align="left", box=box.ROUNDED, height=REASON_LINES)


def _cells(service: ServiceView, now_s: float) -> tuple[list[_Cell], list[_Cell], list[_Cell]]:
    figures, trend = service.figures, service.trend
    assert figures is not None
    flow = [
        ("in", units.rate(trend.in_rate), "bold"),
        ("out", units.rate(trend.out_rate), "bold"),
        ("lag", units.number(figures.lag), "bold"),
        ("stored", f"{units.number(service.stored)} events", ""),
        ("stream time", _moment(figures.stream_time_s, now_s), ""),
    ]
    times = [
        ("commits", units.rate(trend.commit_rate), "bold"),
        ("latency p50", units.seconds(trend.latency_p50_s), "bold"),
        ("latency p95", units.seconds(trend.latency_p95_s), ""),
        ("restarts", f"{figures.restarts:,}", "red" if figures.restarts else ""),
    ]
    counts = [
        ("state rows", f"{figures.state_rows:,}", "bold"),
        ("state size", units.size(figures.state_bytes), ""),
        ("errors", f"{figures.errors:,}", "yellow" if figures.errors else ""),
        ("late", f"{figures.late:,}", ""),
        ("duplicates", f"{figures.duplicates:,}", ""),
    ]
    return flow, times, counts


def _moment(stream_time_s: float | None, now_s: float) -> str:
    if stream_time_s is None:
        return units.UNKNOWN
    return f"{units.clock(stream_time_s)}, {units.age(now_s - stream_time_s)} ago"


def _fitting(columns: tuple[Column, ...], width: int) -> list[Column]:
    fitting: list[Column] = []
    for column in columns:
        width -= column.width + _GAP
        if width + _GAP < 0:
            break
        fitting.append(column)
    return fitting
