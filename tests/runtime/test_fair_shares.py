"""Each task may use a share of a commit's records, so that a job's sub-topologies advance together."""

from __future__ import annotations

import pytest

from forebay.runtime.task.shares import fair_shares
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import INPUT, OUTPUT
from tests.runtime.simulator.world import World


@pytest.mark.parametrize(
    ("most", "waiting", "shares"),
    [
        (100, [0, 40, 60], [0, 40, 60]),
        (100, [0, 1_000, 60], [1, 50, 49]),
        (100, [1_000, 10, 1_000, 30], [30, 10, 30, 30]),
        (100, [1_000, 1_000, 1_000], [34, 33, 33]),
        (1, [5, 5], [1, 1]),
    ],
)
def test_uneven_shares_are_redistributed(most: int, waiting: list[int], shares: list[int]) -> None:
    assert sorted(fair_shares(most, waiting)) == sorted(shares)


def test_a_task_s_share_is_at_most_its_waiting_records_or_one_record() -> None:
    waiting = [3, 0, 700, 20, 9_000]
    shares = fair_shares(1_000, waiting)
    assert all(share <= max(1, count) for share, count in zip(shares, waiting, strict=True))
    assert sum(shares) <= 1_000


def _used_at_the_first_output(read_ahead: int) -> int:
    """Return the number of processed input records when the last of three sub-topologies first forwards a record."""
    world = World(Setup("chain", partitions=4, tasks=4, records=600, read_ahead=read_ahead), seed=1)
    while not world.broker.committed(OUTPUT):
        world.turn()
    return world.used_records(INPUT)


@pytest.mark.long
def test_the_last_sub_topology_does_not_wait_for_a_backlog_of_the_first() -> None:
    assert _used_at_the_first_output(read_ahead=0) > 450, "the reader has one queue, first in, first out"
    assert _used_at_the_first_output(read_ahead=600) < 150
