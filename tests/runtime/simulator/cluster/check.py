"""Comparison of a run of the cluster with a run without faults."""

from __future__ import annotations

from dataclasses import replace

from tests.runtime.simulator.anomalies import anomalies
from tests.runtime.simulator.cluster.setup import LeaseSetup
from tests.runtime.simulator.cluster.world import Cluster
from tests.runtime.simulator.outcome import differences, outcome, position_faults, stale_tasks


def cluster_faults(setup: LeaseSetup, seed: int, inputs: int = 0) -> tuple[Cluster, list[str]]:
    """Run a setup with and without faults. Return the cluster with faults, and all differences between the results."""
    if setup.recreates_input:
        return _recreation_faults(setup, seed, inputs)
    calm = Cluster(replace(setup, plain=replace(setup.plain, trouble=0.0), outlasts_grace=False, end=""), seed, inputs)
    calm.run()
    troubled = Cluster(setup, seed, inputs)
    troubled.run()
    return troubled, [
        *(f"undisturbed: {finding}" for finding in calm.findings),
        *troubled.findings,
        *differences(outcome(calm), outcome(troubled)),
        *position_faults(troubled),
        *stale_tasks(troubled),
        *anomalies(troubled),
    ]


def _recreation_faults(setup: LeaseSetup, seed: int, inputs: int) -> tuple[Cluster, list[str]]:
    """Run a setup whose input is recreated. The job stops, so its results are not compared with another run."""
    cluster = Cluster(setup, seed, inputs)
    cluster.run()
    assert cluster.recreation is not None
    return cluster, [*cluster.findings, *cluster.recreation.check()]
