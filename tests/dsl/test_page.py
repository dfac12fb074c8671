"""The examples of docs/dsl.md print the output that the page shows, and the page has an example of every method."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from forebay.builder import GroupedStream, GroupedTable, Stream, Table, Topology

PAGE = (Path(__file__).parents[2] / "docs" / "dsl.md").read_text()


def test_the_examples_print_what_the_page_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("dsl_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/dsl.md", "exec", dont_inherit=True), module.__dict__)
    assert capsys.readouterr().out == "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("kind", [Topology, Stream, Table, GroupedStream, GroupedTable])
def test_the_page_has_an_example_of_every_verb(kind: type) -> None:
    internal = {"partition_by_key", "name", "with_rows"}
    verbs = {name for item in kind.__mro__ for name, member in vars(item).items() if callable(member)}
    shown = {verb for verb in verbs if not verb.startswith("_")} - internal
    missing = [verb for verb in sorted(shown) if f".{verb}(" not in PAGE and f"`{verb}" not in PAGE]
    assert missing == []
