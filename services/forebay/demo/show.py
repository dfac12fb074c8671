"""The output of the view: a terminal's screen, or plain lines."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from forebay.demo.plain import plain_lines
from forebay.demo.screen import screen
from forebay.demo.view import ServiceView, View


class Show(Protocol):
    """Receives steps and views; a context manager.

    Attributes:
        interval_s: seconds from view to view.
    """

    interval_s: float

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def step(self, message: str) -> None:
        """Report the current step, and end the view."""
        ...

    def note(self, message: str) -> None:
        """Report an event, unless that disturbs the view."""
        ...

    def update(self, view: View) -> None:
        """Show the current state."""
        ...


class PlainShow:
    """Prints lines: the hints once, the reason why a service waits when it changes, and its statistics every 2 s."""

    interval_s = 2.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._hinted = False
        self._waiting: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return

    def step(self, message: str) -> None:
        """Print the message."""
        self._console.print(message, markup=False, highlight=False, soft_wrap=True)

    def note(self, message: str) -> None:
        """Print the message."""
        self.step(message)

    def update(self, view: View) -> None:
        """Print the statistics."""
        if not self._hinted:
            self._hinted = True
            for hint in view.hints:
                self.step(hint)
        shown = tuple(service for service in view.services if self._is_news(service))
        for line in plain_lines(dataclasses.replace(view, services=shown)):
            self.step(line)

    def _is_news(self, service: ServiceView) -> bool:
        if service.figures is not None:
            return True
        before, now = self._waiting.get(service.service), service.state.reason
        self._waiting[service.service] = now
        return before != now


class ScreenShow:
    """Shows the view on the whole terminal, which is restored at the first step after the view."""

    interval_s = 1.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def step(self, message: str) -> None:
        """Print the message on the restored terminal."""
        self._end()
        self._console.print(Text.assemble(("· ", "dim"), message), highlight=False, soft_wrap=True)

    def note(self, message: str) -> None:
        """Print the message unless the view is shown, which contains more."""
        if self._live is None:
            self.step(message)

    def update(self, view: View) -> None:
        """Show the view in the current size of the terminal."""
        layout = screen(view, self._console.width, self._console.height)
        if self._live is None:
            self._live = Live(layout, console=self._console, screen=True, auto_refresh=False)
            self._live.start(refresh=True)
        else:
            self._live.update(layout, refresh=True)

    def _end(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()


def show_for(console: Console) -> Show:
    """Return a screen for a terminal that can move its cursor, plain lines for anything else."""
    return ScreenShow(console) if console.is_interactive else PlainShow(console)
