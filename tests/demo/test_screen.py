"""On a terminal of any size, all output stays within the screen."""

import dataclasses
import io

import pytest
from rich.console import Console

from forebay.demo.screen import screen
from forebay.demo.view import View
from forebay.http.health import Verdict
from tests.demo.views import FIGURES, HINTS, STARTING, running, view


def lines(shown: View, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    console.print(screen(shown, width, height))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (140, 40), (200, 60)])
def test_fills_the_screen_and_no_more(size: tuple[int, int]) -> None:
    width, height = size
    result = lines(view(running()), width, height)
    assert len(result) == height
    assert max(map(len, result)) <= width
    assert [line.rstrip() for line in result[-3:]] == list(HINTS)


def test_every_figure_can_be_read_at_80x24() -> None:
    text = "\n".join(lines(view(running()), 80, 24))
    figures = "1,002/s 998/s 345 123,456 events|23:59:58, 1.5 s ago|10/s|0.52 s|1.10 s|1,812|412 kB|12|31|2|1"
    for figure in figures.replace(" 998", "|998").replace(" 345", "|345").replace(" 123", "|123").split("|"):
        assert figure in text
    for title in ("the tasks read and commit", "user_000123", "1:02:03", "3 x decode: unknown schema id", "01:15"):
        assert title in text


def test_large_figures_fit_at_80_columns() -> None:
    large = dataclasses.replace(FIGURES, lag=12_345_678, state_rows=1_234_567, state_bytes=3_900_000_000)
    text = "\n".join(lines(view(dataclasses.replace(running(), figures=large, stored=987_654_321)), 80, 24))
    for figure in ("12,345,678", "1,234,567", "3.9 GB", "987,654,321 events"):
        assert figure in text


def test_a_wide_screen_shows_more_of_the_results() -> None:
    narrow, wide = ("\n".join(lines(view(running()), *size)) for size in ((80, 24), (140, 40)))
    assert "mobile desktop" not in narrow
    assert "mobile desktop" in wide
    assert wide.count("user_000123") > narrow.count("user_000123") > 3


def test_a_service_that_starts() -> None:
    result = lines(view(STARTING), 80, 24)
    assert len(result) == 24
    assert "starting: no task has begun yet" in result[1]


def test_long_trouble_is_cut() -> None:
    result = lines(view(running(state=Verdict(False, "broker away " * 30))), 80, 24)
    assert len(result) == 24
    assert "broker away" in result[1]


@pytest.mark.parametrize("size", [(40, 10), (20, 5)])
def test_a_tiny_screen_is_no_error(size: tuple[int, int]) -> None:
    assert lines(view(running()), *size)
