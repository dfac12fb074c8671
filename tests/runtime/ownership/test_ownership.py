"""The ownership protocol is correct for every order of steps and faults, and fails without any one of its rules."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.runtime.ownership.model import UNLIMITED, Rules
from tests.runtime.ownership.search import explore

RULES = [field.name for field in fields(Rules)]


def test_no_three_faults_break_a_group_of_two_drivers() -> None:
    result = explore(groups=1, faults=3, commits=2)
    assert (result.violation, result.trace) == ("", ())
    assert result.states > 4_000


def test_no_number_of_faults_breaks_a_group_and_therefore_any_number_of_groups() -> None:
    """One group is enough: groups share only the fault "executor dies", which each sees as the death of its worker."""
    result = explore(groups=1, faults=UNLIMITED, commits=4)
    assert (result.violation, result.trace) == ("", ())


@pytest.mark.long
def test_no_fault_breaks_two_groups_that_share_their_executors() -> None:
    result = explore(groups=2, faults=1, commits=1)
    assert (result.violation, result.trace) == ("", ())


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule: str) -> None:
    result = explore(groups=1, faults=3, commits=2, rules=replace(Rules(), **{rule: False}))
    assert result.violation
    assert result.trace


def test_without_faults_two_drivers_alone_need_the_broker_s_fence_and_the_order_of_an_opening() -> None:
    needed = {
        rule: bool(explore(groups=1, faults=0, commits=2, rules=replace(Rules(), **{rule: False})).violation)
        for rule in RULES
    }
    assert {rule for rule, is_needed in needed.items() if is_needed} == {
        "broker_fences",
        "fence_before_replay",
        "snapshot_between_commits",
    }
