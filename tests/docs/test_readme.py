"""The Python example of README.md runs as printed, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay.cli.main import COMMANDS

PAGE = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


def test_every_command_exists_and_has_output() -> None:
    entries = [entry for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for entry in block.split("$ ")]
    commands = {entry.split()[1]: entry for entry in entries if entry.startswith("forebay ")}
    assert {"check", "up", "run", "tail", "sql"} <= commands.keys() <= COMMANDS.keys()
    assert [name for name, entry in commands.items() if entry.count("\n") < 2] == []
