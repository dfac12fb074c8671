"""docs/transform-with-state.md: its code runs and gives the results that the page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from forebay.testing import TestDriver

PAGE = (Path(__file__).parents[2] / "docs" / "transform-with-state.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, "page", "exec"), names)
    shown = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(BLOCKS), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == shown
    assert len(shown) == 2


def test_the_page_s_initial_state() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, "page", "exec"), names)
    driver = TestDriver(names["job"], raise_errors=True)
    known, visit = names["UserVisits"]("ada", 5, False), names["Visit"]("ada", 1_000)
    (output,) = driver.pipe_all([("visits", "any", visit, 0), ("known_visits", "any", known, 0)])
    assert output.value == names["UserVisits"]("ada", 1, False)
