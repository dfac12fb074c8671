"""With faults of workers, leases and checkpoint, committed outputs and stores equal those of a run without faults."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from forebay.runtime.worker.retries import RetryWatch
from tests.runtime.simulator.coordinator import Coordinator, Identity
from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.setups import setup_of
from tests.runtime.simulator.topologies import JsonCodec

pytestmark = pytest.mark.long

RUNS = int(os.environ.get("FOREBAY_SIMULATOR_RUNS", "24"))


@pytest.mark.parametrize("seed", range(RUNS))
def test_run(seed: int) -> None:
    _, differences = faults(setup_of(seed), seed)
    assert differences == []


@pytest.mark.parametrize("seed", range(RUNS))
def test_releases_that_change_places_in_the_topology_change_no_result(seed: int) -> None:
    topology = ("sum", "windows", "chain", "global")[seed % 4]
    groups = 1 + seed // 4 % 2
    world, differences = faults(
        Setup(topology, 5, 2, groups, records=80, trouble=(0.0, 0.01, 0.03)[seed % 3] or 1e-9, turns=200, edits=2), seed
    )
    assert differences == []
    assert world.seen["edits"] == 2


@pytest.mark.parametrize("seed", range(RUNS))
def test_releases_that_send_other_formats_change_no_result(seed: int) -> None:
    topology, groups = ("windows", "chain", "rated")[seed % 3], 1 + seed % 2
    trouble = (1e-9, 0.003, 0.01)[seed // 2 % 3]
    _, differences = faults(Setup(topology, 4, 4, groups, records=160, trouble=trouble, turns=300, formats=10), seed)
    assert differences == []


@pytest.mark.parametrize("topology", ["sum", "windows", "chain", "global"])
def test_an_undisturbed_run_commits_something(topology: str) -> None:
    world, differences = faults(Setup(topology, records=40), 0)
    assert differences == []
    assert len(world.broker.committed("results")) > 10


@pytest.mark.parametrize(("tasks", "groups"), [(1, 1), (5, 1), (5, 2)])
def test_every_task_knows_all_of_a_global_table_before_its_first_record(tasks: int, groups: int) -> None:
    world, differences = faults(Setup("global", 5, tasks, groups, records=40, trouble=0.02), 3)
    assert differences == []
    committed = [JsonCodec().decode(record.value_ or b"").amount for record in world.broker.committed("results")]
    assert len(committed) == 40
    assert min(committed) > 0, "a factor was not known"


def test_a_broker_that_does_not_fence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_epoch(self: Coordinator, name: str, epoch: int) -> Identity:
        return self.identities[name]

    monkeypatch.setattr(Coordinator, "own", any_epoch)
    assert any(broken(Setup("sum", 1, 1, records=60, trouble=0.03, turns=150), seed) for seed in range(12))


LATE = Setup("sum", 1, 1, records=80, trouble=0.003, turns=150, late_ends=0.3)


def test_a_late_end_of_a_commit_changes_nothing() -> None:
    assert [differences for seed in range(8) for differences in faults(LATE, seed)[1]] == []


def test_a_group_that_keeps_its_epoch_after_a_repeated_commit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: RetryWatch, producer: object, call: Callable[[], object]) -> bool:
        call()
        return False

    monkeypatch.setattr(RetryWatch, "has_repeated", careless)
    assert any(broken(LATE, seed) for seed in range(8))


def broken(setup: Setup, seed: int) -> bool:
    try:
        return bool(faults(setup, seed)[1])
    except Exception:
        return True
