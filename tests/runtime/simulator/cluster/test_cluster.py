"""With faults of drivers, executors, clocks and the control group, a job commits the same as without faults."""

from __future__ import annotations

import pytest

from tests.runtime.simulator.cluster.check import cluster_faults
from tests.runtime.simulator.cluster.setup import LeaseSetup, draining_setup, lease_setup_of

LONG = [pytest.param(first, marks=pytest.mark.long) for first in range(2, 80, 2)]


@pytest.mark.parametrize("first", [0, *LONG])
def test_two_seeds(first: int) -> None:
    assert [(s, fault) for s in (first, first + 1) for fault in cluster_faults(lease_setup_of(s), s)[1]] == []


@pytest.mark.parametrize("first", [0, *LONG])
def test_runs_with_end_offsets_end_without_an_error_only_once_they_have_read_everything(first: int) -> None:
    setup = draining_setup()
    assert [(s, fault) for s in (first, first + 1) for fault in cluster_faults(setup, s)[1]] == []


@pytest.mark.parametrize("first", [0, *LONG])
def test_a_job_whose_input_is_recreated_stops(first: int) -> None:
    setup = LeaseSetup(recreates_input=True)
    assert [(s, fault) for s in (first, first + 1) for fault in cluster_faults(setup, s)[1]] == []
