"""The checkers find each anomaly in a history that has it, and none in the history of an undisturbed run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.simulator.anomalies import anomalies
from tests.runtime.simulator.broker import Record
from tests.runtime.simulator.coordinator import Transaction
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.world import World


def world() -> World:
    world = World(Setup("sum", 1, 1, records=20), seed=0)
    world.run()
    return world


def sent(world: World) -> list[Record]:
    """Return the records of the last transaction."""
    last = next(record.attempt for record in reversed(world.broker.history) if record.attempt is not None)
    return [record for record in world.broker.history if record.attempt is last]


def tear(world: World) -> None:
    sent(world)[0].transaction = Transaction(0.0, "aborted")


def lose(world: World) -> None:
    for record in sent(world):
        record.transaction = Transaction(0.0, "aborted")


def refuse(world: World) -> None:
    for record in sent(world):
        assert record.attempt is not None
        record.attempt.answer = "fenced"


def commit_twice(world: World) -> None:
    *_, (name, epoch, state) = world.broker.coordinator.ends
    world.broker.coordinator.ends.append((name, epoch - 1, state))


def go_back(world: World) -> None:
    position, last = [r for r in world.broker.history if r.key_ == b"\x01position"][-2:]
    last.value_, position.value_ = position.value_, last.value_


def run_ahead(world: World) -> None:
    place, (offset, metadata) = next(iter(world.broker.marked.items()))
    world.broker.marked[place] = offset + 1, metadata


def leave_open(world: World) -> None:
    world.broker.partitions["results", 0].open[Transaction(0.0)] = 0


@pytest.mark.parametrize(
    ("spoil", "anomaly"),
    [
        (tear, "torn transaction"),
        (lose, "lost write"),
        (refuse, "aborted read"),
        (commit_twice, "two owners"),
        (go_back, "duplicate"),
        (run_ahead, "offsets disagree"),
        (leave_open, "open transaction"),
    ],
)
def test_an_anomaly_is_named(spoil: Callable[[World], None], anomaly: str) -> None:
    spoiled = world()
    assert anomalies(spoiled) == []
    spoil(spoiled)
    assert any(fault.startswith(anomaly) for fault in anomalies(spoiled))
