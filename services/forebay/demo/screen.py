"""The view on a terminal of at least 80x24 characters."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forebay.demo import overview, panels, units
from forebay.demo.view import Results, ServiceView, View

TURN_S = 5.0
"""Time for which results are shown in turn, if those of all services don't fit, in seconds."""

_LEAST_RESULTS = 4
_LEAST_SHARED_RESULTS = 5
_CORNERS = 6


def screen(view: View, width: int, height: int) -> RenderableType:
    """Return the view for `width` x `height` characters."""
    hints = [Text(hint, style="dim", no_wrap=True, overflow="ellipsis") for hint in view.hints]
    lines = height - 1 - len(hints)
    parts = _one(view, width, lines) if len(view.services) == 1 else _several(view, width, lines)
    return Group(_title(view, width), *parts, *hints)


def _title(view: View, width: int) -> RenderableType:
    bar = Table.grid(expand=True)
    bar.add_column(justify="left", no_wrap=True)
    bar.add_column(justify="right", no_wrap=True)
    bar.add_row(Text(" forebay demo", style="bold"), Text(f"{units.format_elapsed(view.elapsed_s)} "))
    bar.style = "reverse"
    bar.width = width
    return bar


def _one(view: View, width: int, lines: int) -> list[RenderableType]:
    (service,) = view.services
    left = lines - panels.FIGURE_LINES
    parts: list[RenderableType] = [panels.figures(service, view.now_s, width)]
    wants_reasons = left - panels.REASON_LINES >= _LEAST_RESULTS
    if wants_reasons:
        left -= panels.REASON_LINES
    if left >= _LEAST_RESULTS * len(service.results):
        parts.extend(_share_lines(((service, results) for results in service.results), width, left))
    if wants_reasons:
        parts.append(panels.reasons(service))
    return parts


def _several(view: View, width: int, lines: int) -> list[RenderableType]:
    shown = [(service, results) for service in view.services for results in service.results]
    left = lines - overview.lines_of(view)
    fitting = min(len(shown), max(0, left) // _LEAST_SHARED_RESULTS)
    first = int(view.elapsed_s // TURN_S) % len(shown) if fitting < len(shown) else 0
    turn = [shown[(first + place) % len(shown)] for place in range(fitting)]
    boxes = _share_lines(turn, width, left)
    for panel, (service, _) in zip(boxes, turn, strict=True):
        if service.reasons:
            panel.subtitle, panel.subtitle_align = _last_error(service, width), "left"
    return [overview.table(view, width), *boxes]


def _share_lines(shown: Iterable[tuple[ServiceView, Results]], width: int, lines: int) -> list[Panel]:
    """Return a panel for each result, with an equal share of the lines. The first panels get the remaining lines."""
    boxes = list(shown)
    if not boxes:
        return []
    share, over = divmod(lines, len(boxes))
    return [
        panels.results(service, results, width, share + (place < over))
        for place, (service, results) in enumerate(boxes)
    ]


def _last_error(service: ServiceView, width: int) -> Text:
    text = Text(f"latest error: {service.reasons[0].text}", style="yellow")
    text.truncate(width - _CORNERS, overflow="ellipsis")
    return text
