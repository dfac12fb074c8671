"""docs/builder.md: its example compiles, and prints what the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from forebay.builder import Stream, Table, Topology

PAGE = (Path(__file__).parents[2] / "docs" / "builder.md").read_text()


def test_the_example_prints_what_the_page_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("builder_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/builder.md", "exec", dont_inherit=True), module.__dict__)
    assert capsys.readouterr().out == "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("kind", [Topology, Stream, Table])
def test_the_page_names_every_verb(kind: type) -> None:
    verbs = [name for name, member in vars(kind).items() if callable(member) and not name.startswith("_")]
    assert [verb for verb in verbs if f"`{verb}" not in PAGE] == (["rows"] if kind is Table else [])
