"""If a rule is broken, the simulator detects it within a few seeds; without a broken rule it detects nothing."""

from __future__ import annotations

import pytest

from tests.runtime.simulator.mutations import MUTATIONS, Mutation, seeds_until_noticed
from tests.runtime.simulator.outcome import faults

pytestmark = pytest.mark.long


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_broken_rule_is_noticed(mutation: Mutation) -> None:
    assert seeds_until_noticed(mutation) is not None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_an_unbroken_rule_is_not_reported(mutation: Mutation) -> None:
    assert [fault for seed in range(3) for fault in faults(mutation.setup, seed)[1]] == []
