"""On a terminal, several services have one row each, followed by results, which take turns if they don't all fit."""

import dataclasses
import io

import pytest
from rich.console import Console

from forebay.demo.screen import TURN_S, screen
from forebay.demo.view import ServiceView, View
from forebay.http.health import Verdict
from tests.demo.views import FIGURES, HINTS, results, running, view

NAMES = ("user-sessions", "windowed-metrics", "session-analytics", "device-alerts", "order-stores")


def several(*more: ServiceView) -> View:
    services = (dataclasses.replace(running(name), results=(results(f"of-{name}"),)) for name in NAMES)
    return view(*services, *more)


def lines(shown: View, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    console.print(screen(shown, width, height))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def titles(found: list[str]) -> list[str]:
    return [line.split("latest of ")[1].split(":")[0] for line in found if "latest of" in line]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (140, 40), (200, 60)])
def test_fills_the_screen_and_no_more(size: tuple[int, int]) -> None:
    width, height = size
    result = lines(several(), width, height)
    assert len(result) == height
    assert max(map(len, result)) <= width
    assert [line.rstrip() for line in result[-3:]] == list(HINTS)


def test_each_service_has_its_row_at_80_columns() -> None:
    result = lines(several(), 80, 24)
    assert "service               in/s  out/s    lag commits latency errors  late   rows" in result[2]
    for line, name in zip(result[3:8], NAMES, strict=True):
        assert f"● {name:17}   1002    998    345      10  0.52 s     12     1   1812" in line


def test_a_wide_screen_shows_more_figures() -> None:
    result = lines(several(), 140, 40)
    assert "rows    state     p95 repeated restarts stream time" in result[2]
    assert "1812   412 kB  1.10 s       31        2    23:59:58" in result[3]


def test_large_figures_stay_in_their_columns() -> None:
    large = dataclasses.replace(FIGURES, lag=12_345_678, state_rows=9_999_999_999, errors=123_456)
    result = lines(view(running("a"), dataclasses.replace(running("b"), figures=large)), 100, 24)
    assert "12.3M" in result[4]
    assert "123.5k" in result[4]
    assert result[4].index("0.52 s") == result[3].index("0.52 s")


def test_a_service_in_trouble_says_why_in_its_row() -> None:
    away = running("order-stores", state=Verdict(False, "the broker can't be reached " * 9))
    result = lines(view(running(), away, ServiceView("price-join", Verdict(False, "starting"))), 80, 24)
    assert "○ order-stores  the broker can't be reached" in result[4]
    assert "○ price-join    starting" in result[5]
    assert max(map(len, result)) <= 80


def test_results_take_turns_where_they_dont_all_fit() -> None:
    shown = several()
    turns = [
        titles(lines(dataclasses.replace(shown, elapsed_s=turn * TURN_S), 80, 24)) for turn in range(len(NAMES) + 1)
    ]
    assert turns[0] == list(NAMES[:2])
    assert turns[4] == [NAMES[4], NAMES[0]]
    assert turns[5] == turns[0]


def test_all_results_are_shown_where_they_fit() -> None:
    assert titles(lines(several(), 120, 60)) == list(NAMES)


def test_the_latest_error_is_shown_under_the_results() -> None:
    result = lines(view(running(), dataclasses.replace(running("b"), reasons=())), 80, 30)
    assert sum("latest error: decode: unknown schema id" in line for line in result) == 1


def test_a_topic_without_results_says_so() -> None:
    empty = dataclasses.replace(running("b"), results=(dataclasses.replace(results(), columns=(), records=()),))
    assert any("none yet" in line for line in lines(view(running(), empty), 80, 30))


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (80, 12)])
def test_a_tiny_screen_is_no_error(size: tuple[int, int]) -> None:
    assert lines(several(), *size)
