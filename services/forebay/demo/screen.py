"""The view as a screenful of a terminal, from 80x24 up."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forebay.demo import units
from forebay.demo.columns import Column
from forebay.demo.view import ServiceView, View

_FIGURE_LINES = 5
_REASON_LINES = 3
_BORDER = 2
_LEAST_RESULTS = 4
_GAP = 2

_Cell = tuple[str, str, str]


def screen(view: View, width: int, height: int) -> RenderableType:
    """Lay the view out in `width` x `height` characters."""
    hints = [Text(hint, style="dim", no_wrap=True, overflow="ellipsis") for hint in view.hints]
    lines = (height - 1 - len(hints)) // max(1, len(view.services))
    parts = [part for service in view.services for part in _service(service, view.now_s, width, lines)]
    return Group(_title(view, width), *parts, *hints)


def _title(view: View, width: int) -> RenderableType:
    bar = Table.grid(expand=True)
    bar.add_column(justify="left", no_wrap=True)
    bar.add_column(justify="right", no_wrap=True)
    bar.add_row(Text(" forebay demo", style="bold"), Text(f"{units.elapsed(view.elapsed_s)} "))
    bar.style = "reverse"
    bar.width = width
    return bar


def _service(service: ServiceView, now_s: float, width: int, lines: int) -> list[RenderableType]:
    left = lines - _FIGURE_LINES - _BORDER
    parts: list[RenderableType] = [_figures(service, now_s, width)]
    wants_reasons = left - _REASON_LINES - _BORDER >= _LEAST_RESULTS
    if wants_reasons:
        left -= _REASON_LINES + _BORDER
    if left >= _LEAST_RESULTS:
        parts.append(_results(service, width, left))
    if wants_reasons:
        parts.append(_reasons(service))
    return parts


def _figures(service: ServiceView, now_s: float, width: int) -> RenderableType:
    state = (service.state.reason, "green" if service.state.ok else "yellow")
    title = Text.assemble((service.service, "bold"), ": ", state)
    title.truncate(width - 2 * _BORDER - _GAP, overflow="ellipsis")
    if service.figures is None:
        middle = "\n" * (_FIGURE_LINES // 2)
        waiting = Text(
            f"{middle}figures come with the first batch; Spark needs half a minute to start",
            style="dim",
            justify="center",
        )
        return Panel(waiting, title=title, title_align="left", box=box.ROUNDED, height=_FIGURE_LINES + _BORDER)
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
        ("batch", units.seconds(trend.batch_last_s), "bold"),
        ("batch p50", units.seconds(trend.batch_p50_s), ""),
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


def _results(service: ServiceView, width: int, lines: int) -> RenderableType:
    table = Table(box=None, expand=True, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    columns = _fitting(service.columns, width - 2 * _BORDER)
    for column in columns:
        table.add_column(column.title, no_wrap=True, overflow="ellipsis", min_width=column.width)
    for record in service.results[: lines - _BORDER - 1]:
        table.add_row(*(column.text(record) for column in columns))
    return Panel(table, title="latest results", title_align="left", box=box.ROUNDED, height=lines)


def _fitting(columns: tuple[Column, ...], width: int) -> list[Column]:
    fitting: list[Column] = []
    for column in columns:
        width -= column.width + _GAP
        if width + _GAP < 0:
            break
        fitting.append(column)
    return fitting


def _reasons(service: ServiceView) -> RenderableType:
    lines = [Text(f"{reason.count:,} x {reason.text}", no_wrap=True, overflow="ellipsis") for reason in service.reasons]
    shown: RenderableType = Group(*lines[:_REASON_LINES]) if lines else Text("none", style="dim")
    title = f"latest in {service.service}.errors"
    return Panel(shown, title=title, title_align="left", box=box.ROUNDED, height=_REASON_LINES + _BORDER)
