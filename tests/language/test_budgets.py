"""Pages and code follow the style rules, or break them in no more places than their budget allows."""

from __future__ import annotations

import pytest

from tests.language.budgets import Kind, budgets, files, findings_of, lowered

BUDGETS = {kind: budgets(kind) for kind in Kind}
_SHOWN = 12


@pytest.mark.parametrize("name", files())
def test_no_more_places_break_a_rule_than_before(name: str) -> None:
    for kind, findings in findings_of(name).items():
        allowed = BUDGETS[kind].get(name, 0)
        if len(findings) > allowed:
            places = "\n  ".join(str(finding) for finding in findings[:_SHOWN])
            pytest.fail(
                f"{name}: {len(findings)} places break a rule of tests/language (rules.toml, names.py), {allowed} are "
                f"allowed. Rewrite what you added; the files that changed last come first:\n  {places}",
                pytrace=False,
            )


def test_budgets_are_of_files_that_exist() -> None:
    assert sorted({name for numbers in BUDGETS.values() for name in numbers} - files().keys()) == []


def test_budgets_only_go_down() -> None:
    assert lowered({"a": 3, "b": 3, "c": 3}, {"a": 5, "b": 2, "new": 4}) == {"a": 3, "b": 2}
