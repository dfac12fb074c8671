"""A rekeyed stream joined with a table gives the same results for any downtime of a task or the job."""

from __future__ import annotations

import pytest

from forebay.runtime.task.sender_stream import SenderStream
from tests.runtime.simulator.outcome import faults, outcome
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import expected_rates
from tests.runtime.simulator.worker import Worker
from tests.runtime.simulator.world import World

pytestmark = pytest.mark.long

SIZES = [(1, 1, 1), (5, 2, 1), (5, 2, 2), (4, 4, 2), (5, 5, 5)]
"""Partitions, tasks, groups."""
ABSENT_SECONDS = 12.0


def sent(world: World) -> dict[bytes, list[bytes | None]]:
    return {key: [value for _, value, _ in records] for key, records in outcome(world).outputs.items()}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("waves", [1, 4])
def test_records_that_arrive_while_the_job_is_down_are_joined_as_of_their_time(
    sizes: tuple[int, int, int], waves: int
) -> None:
    world = World(Setup("rated", *sizes, records=120, waves=waves), seed=1)
    wanted = expected_rates(list(world.to_come)) if waves == 1 else None
    everything = World(Setup("rated", *sizes, records=120, is_live=True), seed=1).to_come
    wanted = expected_rates(everything)
    world.run()
    assert sent(world) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_killing_workers_changes_no_result(seed: int) -> None:
    setup = Setup("rated", 4, 4, 2, records=80, waves=3, trouble=0.02)
    _, differences = faults(setup, seed)
    assert differences == []


@pytest.mark.parametrize("away", [0, 1])
def test_records_that_arrive_while_a_group_is_away_are_processed_later(away: int) -> None:
    setup = Setup("rated", 4, 4, 2, records=90, is_live=True, waves=2, lease_seconds=60.0)
    wanted = expected_rates(World(Setup("rated", 4, 4, 2, records=90, is_live=True), seed=3).to_come)
    world = World(setup, seed=3)
    turn_for(world, 8.0)
    world.take_away(away)
    turn_for(world, ABSENT_SECONDS)
    world.produce(len(world.to_come))
    turn_for(world, ABSENT_SECONDS)
    assert sent(world) != wanted, "the group that is there had nothing to wait for"
    world.absent.clear()
    turn_for(world, ABSENT_SECONDS)
    assert sent(world) == wanted


@pytest.mark.parametrize("away", [0, 1])
@pytest.mark.parametrize("begun", [1, 2])
def test_records_that_arrive_while_a_worker_is_frozen_in_a_commit_are_processed_later(away: int, begun: int) -> None:
    wanted = expected_rates(World(Setup("rated", 4, 4, 2, records=90, is_live=True), seed=3).to_come)
    setup = Setup("rated", 4, 4, 2, records=90, is_live=True, waves=2, lease_seconds=600.0)
    # With this seed, the groups run on different workers.
    world = FrozenInACommit(setup, seed=6)
    turn_for(world, 8.0)
    assert world.driving.holdings[0].worker is not world.driving.holdings[1].worker
    # One of these commits announces that the tasks have caught up. The other only commits offsets to the marker group.
    world.frozen, world.begun = world.driving.holdings[away].worker, begun
    turn_for(world, 3 * ABSENT_SECONDS)
    assert not world.begun, "no commit was frozen"
    assert sent(world) == wanted


class FrozenInACommit(World):
    """A world in which a worker freezes at the beginning of a commit, while all other records arrive."""

    frozen: Worker | None = None
    begun = 0
    """How many of its commits begin until then."""

    def at(self, worker: Worker, point: str) -> None:
        super().at(worker, point)
        if worker is self.frozen and point == "commit.begin" and self.begun:
            self.begun -= 1
            if not self.begun:
                worker.is_paused = True
                turn_for(self, ABSENT_SECONDS)
                self.produce(len(self.to_come))
                turn_for(self, ABSENT_SECONDS)
                worker.is_paused = False


def test_a_reader_that_trusts_announcements_of_another_run_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SenderStream, "has_caught_up", property(lambda stream: True))
    world = World(Setup("rated", 4, 4, 2, records=120, waves=4), seed=1)
    wanted = expected_rates(World(Setup("rated", 4, 4, 2, records=120, is_live=True), seed=1).to_come)
    world.run()
    assert sent(world) != wanted


def turn_for(world: World, seconds: float) -> None:
    """Let a world run for some of its time."""
    until = world.broker.now + seconds
    while world.broker.now < until:
        world.turn()
