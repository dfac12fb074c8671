"""ARCHITECTURE.md is short, and the tests that its rules name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
FILES = sorted(set(re.findall(r"`((?:tests|integration-tests)/[a-z_/-]+\.py)[:`]", PAGE)))
NAMED = re.findall(r"`([a-z_/-]+\.py)::(test_\w+)`", PAGE)


def test_the_page_stays_short() -> None:
    assert len(PAGE.splitlines()) <= 250, "move details to docs/decisions/"


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 8
    assert len(FILES) > 12


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_tests_that_a_rule_names_exists(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_a_rule_names_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text()
