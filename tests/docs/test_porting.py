"""The Python example of docs/porting.md prints what the page shows, and the names that the page uses exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "porting.md").read_text()


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "porting.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


def test_every_name_of_the_library_exists() -> None:
    names = re.findall(r"`(forebay\.[a-z.]+)\.([A-Z]\w+)`", PAGE)
    assert len(names) > 5
    assert [f"{module}.{name}" for module, name in names if not hasattr(import_module(module), name)] == []
