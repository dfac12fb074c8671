"""Commit messages are accepted or rejected by the rules of CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.commit_message import main, mistakes

GOOD = [
    "Fix late EndTxn committing the next transaction",
    "Pass headers through repartition topics\n\nThey were lost.",
    "Process records by time\n# Please enter the commit message\n",
    "Merge branch 'main' into docs, a subject that git wrote and that may be longer than others are allowed to be",
]
BAD = [
    ("", "capital letter"),
    ("fix a fault", "capital letter"),
    ("Fixed a fault", "not imperative"),
    ("Fixes a fault", "not imperative"),
    ("Fixing a fault", "not imperative"),
    ("The fault is gone", "not imperative"),
    ("Tests: reports that are missing are named", "not imperative"),
    ("Fix a fault.", "full stop"),
    (f"Fix {'x' * 69}", "73 characters"),
    ("Fix a fault\nwithout an empty line", "second line"),
]


@pytest.mark.parametrize("message", GOOD)
def test_good_messages_are_accepted(message: str) -> None:
    assert mistakes(message) == []


@pytest.mark.parametrize(("message", "reason"), BAD)
def test_bad_messages_are_refused_with_the_reason(message: str, reason: str) -> None:
    (mistake,) = mistakes(message)
    assert reason in mistake


def test_the_hook_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Added a page")
    assert main([str(file)]) == 1
    assert f"{file}: 'Added' is not imperative" in capsys.readouterr().err
    file.write_text("Add a page")
    assert main([str(file)]) == 0
