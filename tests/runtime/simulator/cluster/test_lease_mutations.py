"""If a rule of leases is broken, the simulated cluster detects it; without a broken rule it detects nothing."""

from __future__ import annotations

import pytest

from tests.runtime.simulator.cluster.check import cluster_faults
from tests.runtime.simulator.cluster.lease_mutations import MUTATIONS, LeaseMutation, seeds_until_noticed

pytestmark = pytest.mark.long


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_broken_rule_is_noticed(mutation: LeaseMutation) -> None:
    assert seeds_until_noticed(mutation) is not None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_an_unbroken_rule_is_not_reported(mutation: LeaseMutation) -> None:
    assert [fault for seed in range(5) for fault in cluster_faults(mutation.setup, seed)[1]] == []
