"""After a rescale, a task's position is derived from those of the tasks whose keys it takes over."""

from __future__ import annotations

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.maintenance.rescale import merge_positions, refuse_other_topology
from forebay.runtime.protocol.position import SenderTime, TaskPosition

REPARTITION = "app-grouped-repartition"


def at(n: int, stream_time: int, closing_time: int, *ends: tuple[str, int, int]) -> TaskPosition:
    senders = (SenderTime(REPARTITION, "0-0", 5, 100),)
    return TaskPosition("c", n, stream_time, closing_time, "v1", ends, senders, handed_to=0b11)


PARENTS = [
    at(7, 100, 300, ("t", 0, 10), ("t", 2, 12), (REPARTITION, 0, 44)),
    at(9, 200, -1, ("t", 1, 11), ("t", 3, 13), (REPARTITION, 1, 45)),
]


def test_joined_tasks_have_the_latest_of_their_times() -> None:
    one = merge_positions(PARENTS, 0, 1, {REPARTITION})
    assert (one.n, one.stream_time, one.closing_time) == (9, 200, 300)
    assert one.ends == (("t", 0, 10), ("t", 1, 11), ("t", 2, 12), ("t", 3, 13))


def test_each_part_of_a_split_task_takes_its_own_partitions() -> None:
    parts = [merge_positions(PARENTS[:1], task, 4, {REPARTITION}).ends for task in (0, 2)]
    assert parts == [(("t", 0, 10),), (("t", 2, 12),)]


def test_no_task_has_a_position_in_recreated_repartition_topics() -> None:
    one = merge_positions(PARENTS, 0, 2, {REPARTITION})
    assert REPARTITION not in {topic for topic, _, _ in one.ends}
    assert (one.senders, one.handed_to) == ((), 0)


def test_every_task_resumes_at_its_position_in_a_global_table() -> None:
    whole = (("global", 0, 4), ("global", 1, 5))
    parents = [at(7, 100, 300, ("t", 0, 10), *whole), at(9, 200, -1, ("t", 1, 11), *whole)]
    assert merge_positions(parents, 0, 1, set(), {"global"}).ends == (*whole, ("t", 0, 10), ("t", 1, 11))
    assert [merge_positions(parents[1:], task, 4, set(), {"global"}).ends for task in (1, 3)] == [
        (*whole, ("t", 1, 11)),
        whole,
    ]


def left_by(*names: str) -> dict[tuple[int, int], TaskPosition]:
    """Return the last positions of two tasks per sub-topology, by (sub-topology number, task number)."""
    return {
        (stage, task): TaskPosition("c", 5, sub_topology=name) for stage, name in enumerate(names) for task in (0, 1)
    }


@pytest.mark.parametrize("names", [("first", "second"), ("", "second"), ("", "")])
def test_positions_of_the_same_topology_or_of_an_old_release_can_be_rescaled(names: tuple[str, ...]) -> None:
    refuse_other_topology("app", left_by(*names), ["first", "second"])


@pytest.mark.parametrize(
    ("names", "place"), [(("second", "first"), 0), (("first", "third"), 1), (("", "first"), 1), (("third", ""), 0)]
)
def test_positions_of_another_sub_topology_are_not_rescaled(names: tuple[str, ...], place: int) -> None:
    message = f"app-{place}-task, partition 0, was written by the sub-topology {names[place]}, .* Run the job once"
    with pytest.raises(StateConflict, match=message):
        refuse_other_topology("app", left_by(*names), ["first", "second"])
