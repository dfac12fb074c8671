"""The examples of docs/stores.md print what the page shows, and the tests that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stores.md").read_text()


def test_the_examples_print_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, object] = {"__name__": __name__}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/stores.md", "exec", dont_inherit=True), scope)
    shown = "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
    assert capsys.readouterr().out == shown


NAMED = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE)


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 50


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text()
