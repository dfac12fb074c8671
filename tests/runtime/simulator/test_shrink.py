"""A failed run's setup is reduced to the smallest one with which its seed still fails."""

from __future__ import annotations

from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.shrink import shrunk


def test_the_smallest_setup_that_still_fails_is_returned() -> None:
    setup = Setup("sum", 5, 4, 2, records=80, turns=200, late_ends=0.1, loses_checkpoint=True, waves=3)
    small = shrunk(setup, 0, lambda one, _: one.records >= 20 and one.turns >= 30 and one.late_ends > 0)
    assert small == Setup("sum", 1, 1, 1, records=20, turns=small.turns, late_ends=0.1)
    assert 30 <= small.turns < 34


def test_a_setup_that_can_not_be_reduced_is_returned_unchanged() -> None:
    setup = Setup("sum", 5, 4, 2)
    assert shrunk(setup, 0, lambda one, _: False) == setup
