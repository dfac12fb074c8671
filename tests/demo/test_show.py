"""Plain lines scroll. The full screen opens at the first view and closes at the next step."""

import dataclasses
import io

import pytest
from rich.console import Console

from forebay.demo.show import PlainShow, ScreenShow, show_for
from forebay.http.health import Verdict
from tests.demo.views import HINTS, STARTING, running, view

ENTERS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=80, height=24, force_terminal=terminal), file


def test_hints_are_printed_once() -> None:
    target, file = console(terminal=False)
    with PlainShow(target) as show:
        show.step("created 6 topics")
        show.update(view(running()))
        show.update(view(running()))
    lines = file.getvalue().splitlines()
    assert lines[:4] == ["created 6 topics", *HINTS]
    assert sum("in 1,002/s" in line for line in lines) == 2


def test_the_reason_of_a_wait_is_printed_when_it_changes() -> None:
    target, file = console(terminal=False)
    waits = dataclasses.replace(STARTING, state=Verdict(False, "the broker is away"))
    with PlainShow(target) as show:
        for service in (STARTING, STARTING, waits, waits, STARTING):
            show.update(view(service, running("device-alerts")))
    lines = [line for line in file.getvalue().splitlines() if "user-sessions: " in line]
    assert [line.split(": ", 1)[1] for line in lines] == [
        "starting: no task has begun yet",
        "the broker is away",
        "starting: no task has begun yet",
    ]
    assert file.getvalue().count("device-alerts: in 1,002/s") == 5


def test_the_screen_is_taken_and_restored() -> None:
    target, file = console(terminal=True)
    with ScreenShow(target) as show:
        show.step("created 6 topics")
        assert ENTERS not in file.getvalue()
        show.update(view(running()))
        show.update(view(running()))
        assert file.getvalue().count(ENTERS) == 1
        assert LEAVES not in file.getvalue()
        show.step("stopping the job")
        assert file.getvalue().index(LEAVES) < file.getvalue().index("stopping the job")


def test_the_screen_is_restored_after_an_error() -> None:
    target, file = console(terminal=True)
    try:
        with ScreenShow(target) as show:
            show.update(view(running()))
            raise RuntimeError
    except RuntimeError:
        assert LEAVES in file.getvalue()


def test_a_terminal_gets_the_screen() -> None:
    assert isinstance(show_for(console(terminal=True)[0]), ScreenShow)
    assert isinstance(show_for(console(terminal=False)[0]), PlainShow)


def test_a_terminal_that_can_t_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(show_for(console(terminal=True)[0]), ScreenShow)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(show_for(console(terminal=True)[0]), PlainShow)
