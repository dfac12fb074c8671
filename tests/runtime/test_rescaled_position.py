"""Where a task stands that takes over the keys of others."""

from __future__ import annotations

from forebay.runtime.committed import CommittedPosition
from forebay.runtime.marker import Marker

from forebay.runtime.rescale import merged


def at(batch: int, stream_time: int, closing_time: int | None, *ends: tuple[str, int, int]) -> CommittedPosition:
    return CommittedPosition(Marker("job", batch, stream_time, f"{batch:032x}", "v1", closing_time, 0b11), ends)


PARENTS = [at(7, 100, 300, ("t", 0, 10), ("t", 2, 12)), at(9, 200, None, ("t", 1, 11), ("t", 3, 13))]


def test_joined_tasks_stand_at_the_latest_of_their_times() -> None:
    one = merged(PARENTS, "", 0, 1, batch=9)
    assert (one.marker.batch, one.marker.stream_time, one.marker.closing_time) == (9, 200, 300)
    assert one.ends == (("t", 0, 10), ("t", 2, 12), ("t", 1, 11), ("t", 3, 13))
    assert one.marker.handed_to == 0


def test_each_part_of_a_split_task_takes_its_own_partitions() -> None:
    assert [merged(PARENTS[:1], "", task, 4, batch=9).ends for task in (0, 2)] == [(("t", 0, 10),), (("t", 2, 12),)]
    tags = {merged(PARENTS[:1], "", task, 4, batch=9).marker.tag for task in (0, 2)}
    assert len(tags) == 2


def test_a_later_stage_stands_at_the_batch() -> None:
    assert merged(PARENTS, "app-1-task", 1, 2, batch=9).ends == (("app-1-task", 1, 9),)
