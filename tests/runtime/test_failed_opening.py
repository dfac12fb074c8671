"""If opening a group fails, it can be opened again without losing or repeating anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from forebay.runtime.errors import Unavailable
from forebay.runtime.task.moving import PlannedMove
from forebay.runtime.task.places import Move
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import Total

MOVED = b"\x01moved\0row"


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_records_completed_by_the_changelogs_are_not_processed_again(
    has_snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = GroupBench()
    bench.feed(("a", 10, 1))
    bench.run()
    if has_snapshot:
        bench.end_lease()
    bench.feed(("a", 20, 2))
    bench.run()
    bench.worker()

    def stand_at(position: Any, inputs: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(bench.task, "stand_at", stand_at)
        with pytest.raises(MemoryError):
            bench.group.open(bench.lease)
    bench.group.abandon()
    bench.feed(("a", 30, 4))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2)), ("a", Total(7, 3))]
    assert [position.n for position in bench.positions()] == [1, 2, 3]


def test_a_worker_whose_lease_has_ended_fences_no_other_worker() -> None:
    bench = GroupBench()
    bench.feed(("a", 10, 1))
    bench.run()
    owner = bench.group
    bench.worker()
    with pytest.raises(Unavailable, match="the lease ended"):
        bench.group.open(bench.lease, lambda: False)
    bench.group = owner
    bench.feed(("a", 20, 2))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]


def moves(tasks: Sequence[StateTask], inputs: object, tails: Sequence[Tail], former: object) -> list[PlannedMove]:
    """Plan one move after the first commit: a row that another task had."""
    (task,), (tail,) = tasks, tails
    position = tail.position or task.position
    if position.n != 1:
        return []
    return [PlannedMove(tail, task, Move(replace(position, n=2), changes=[(MOVED, b"row")]))]


@pytest.mark.parametrize("point", ["commit.begin", "commit.before", "commit.after"])
@pytest.mark.parametrize("has_snapshot", [True, False])
def test_rows_that_belong_to_another_place_are_moved(
    has_snapshot: bool, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = GroupBench()
    bench.feed(("a", 10, 1))
    bench.run()
    if has_snapshot:
        bench.end_lease()
    bench.worker()
    monkeypatch.setattr("forebay.runtime.task.takeover.planned_moves", moves)
    with pytest.raises(Unavailable):
        bench.fail(point)
    bench.feed(("a", 20, 2))
    bench.run()
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(3, 2))]
    assert [position.n for position in bench.positions()] == [1, 2, 3]
    assert bench.rows()[MOVED] == b"row"
