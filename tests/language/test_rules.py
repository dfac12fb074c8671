"""Each rule finds its bad example with its line and accepts its good one. Code is not checked as prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.prose import Passage, passages
from tests.language.rules import Rule, Scope, rules, violations


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.bad)
def test_a_rule_finds_its_bad_example_and_accepts_its_good_one(rule: Rule) -> None:
    assert rule.pattern.search(rule.bad)
    assert list(violations(Passage(1, rule.good), Scope.PAGES)) == []


def test_words_are_found_across_lines_and_by_line() -> None:
    text = "One line.\n\nA job that goes\n  on, and nobody\n"
    assert [(line, words) for line, words, _ in violations(Passage(10, text), Scope.ALL)] == [
        (13, "nobody"),
        (12, "goes on"),
    ]


def test_words_of_pages_are_names_in_code() -> None:
    assert list(violations(Passage(1, "the last stage"), Scope.ALL)) == []
    assert len(list(violations(Passage(1, "the last stage"), Scope.PAGES))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "A word.\n\n```\nnobody\n```\n`nobody` [link](nobody.md) <!-- nobody -->\n"),
        ("code.py", 'nobody = "nobody"\n'),
    ],
)
def test_code_is_no_prose(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert not any("nobody" in passage.text for passage in passages(file) if " " in passage.text)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("code.py", '"""Nobody reads."""\n\n# nobody\n# reads\nraise ValueError(f"{1} nobody reads")\n', [1, 3, 5]),
        ("code.pyx", '"""Nobody reads."""\ncdef int x  # nobody reads\n', [1, 2]),
        ("page.md", "# Nobody\n\nreads, and nobody\nwrites.\n", [1, 3]),
    ],
)
def test_prose_is_found_by_line(tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    file = tmp_path / name
    file.write_text(text)
    found = [line for passage in passages(file) for line, _, _ in violations(passage, Scope.ALL)]
    assert sorted(found) == lines
