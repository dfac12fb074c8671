"""docs/transform-with-state.md: its code runs and gives the results that the page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from forebay.testing import TestDriver
from tests.docs import walkthrough
from tests.stateful.page_service import BLOCKS, COMMANDS, write_service


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


@pytest.mark.long
def test_the_page_s_files_are_a_service(tmp_path: Path) -> None:
    write_service(tmp_path)
    prepared, checked, *_ = COMMANDS.splitlines()
    done = walkthrough.shell(tmp_path, f"{prepared}\n{checked}\nforebay services user-visits")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "user-visits: visits of each user, and who left" in done.stdout
