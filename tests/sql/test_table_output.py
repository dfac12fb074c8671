"""Tables are as wide as their widest row, except in a terminal, whose width the columns share."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.cli.sql_client import show

WIDE = "a text that is much wider than the first row"


def print_table(lines: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(iter(lines), "table")
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("kind", [{}, {"type": "STRING"}])
def test_a_row_that_is_wider_than_the_first_is_not_cut(
    kind: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {"columns": [{"name": "A", **kind}, {"name": "B", **kind}]}
    lines = print_table([columns, {"row": {"A": "x", "B": "y"}}, {"row": {"A": "x", "B": WIDE}}], capsys)
    assert lines[-1].endswith(WIDE)


def test_a_plan_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    steps = ["short", "long " * 60]
    lines = print_table([{"columns": [{"name": "plan"}]}, *({"row": {"plan": step}} for step in steps)], capsys)
    assert lines[2:] == [step.rstrip() for step in steps]


def test_columns_share_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    columns = {"columns": [{"name": "A", "type": "STRING"}, {"name": "B", "type": "STRING"}]}
    lines = print_table([columns, {"row": {"A": WIDE, "B": WIDE}}], capsys)
    assert {len(line) <= 60 for line in lines} == {True}


def test_empty_result_prints_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table([{"columns": []}, {"end": {}}], capsys) == ["no rows"]
