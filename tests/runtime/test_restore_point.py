"""From which positions a job without a checkpoint may go on."""

from __future__ import annotations

import pytest

from forebay.runtime.batch import Range, TaskBatch
from forebay.runtime.committed import CommittedPosition, position_of
from forebay.runtime.errors import OffsetsLost, StateConflict
from forebay.runtime.marker import Marker
from forebay.runtime.restore import RestorePoint, agreed_position, restore_point, restored_ends


def marker(batch: int, job: str = "old", handed_to: int = 0, closing_time: int | None = 70) -> Marker:
    return Marker(job, batch, 60, f"{batch:032x}", "v1", closing_time, handed_to)


def at(batch: int, *ends: tuple[str, int, int], handed_to: int = 0) -> CommittedPosition:
    return CommittedPosition(marker(batch, handed_to=handed_to), ends)


def test_a_position_and_its_marker_survive_their_bytes() -> None:
    position = CommittedPosition(marker(7, handed_to=0b101), (("t", 0, 12), ("t", 4, 0)))
    assert CommittedPosition.from_json(position.to_json()) == position


@pytest.mark.parametrize("data", [b"", b"{}", b'{"marker": "{}", "ends": []}', b'{"marker": "", "ends": [[1]]}'])
def test_a_position_somebody_else_wrote_is_refused(data: bytes) -> None:
    with pytest.raises(StateConflict):
        CommittedPosition.from_json(data)


def test_a_marker_of_an_older_release_has_no_closing_time() -> None:
    old = '{"v":1,"job":"j","n":3,"s":9,"tag":"ab","code":"v0"}'
    assert Marker.from_metadata(old) == Marker("j", 3, 9, "ab", "v0", None, 0)


def test_nothing_to_restore_where_no_task_committed() -> None:
    assert restore_point({}) is None


def test_tasks_go_on_from_their_own_offsets_after_the_latest_batch() -> None:
    point = restore_point({(0, 0): at(9, ("t", 0, 90), ("t", 2, 92)), (0, 1): at(4, ("t", 1, 41))})
    assert point == RestorePoint(9, (("t", 0, 90), ("t", 1, 41), ("t", 2, 92)))


def test_what_a_stage_handed_on_in_the_last_batch_must_have_been_committed() -> None:
    whole = {
        (0, 0): at(9, ("t", 0, 9), handed_to=0b10),
        (0, 1): at(9, ("t", 1, 9), handed_to=0b11),
        (1, 0): at(9),
        (1, 1): at(9),
    }
    assert restore_point(whole) == RestorePoint(9, (("t", 0, 9), ("t", 1, 9)))
    broken = {**whole, (1, 1): at(8)}
    assert restore_point(broken) == RestorePoint(9, (("t", 0, 9), ("t", 1, 9)), lost=((1, 1),))
    del broken[1, 1]
    assert restore_point(broken) == RestorePoint(9, (("t", 0, 9), ("t", 1, 9)), lost=((1, 1),))


def test_a_task_that_was_handed_nothing_may_stand_at_an_older_batch() -> None:
    positions = {
        (0, 0): at(9, ("t", 0, 9), handed_to=0b01),
        (0, 1): at(8, ("t", 1, 8), handed_to=0b11),
        (1, 0): at(9),
        (1, 1): at(8),
    }
    assert restore_point(positions) == RestorePoint(9, (("t", 0, 9), ("t", 1, 8)))


def test_partitions_without_a_position_are_read_from_where_their_task_would_begin() -> None:
    point = RestorePoint(9, (("t", 0, 50),))
    start, earliest, latest = {"t": (60, 60, 60, 60)}, {"t": (0, 3, 7, 0)}, {"t": (60, 60, 60, 60)}
    assert restored_ends(point, start, earliest, latest, tasks=2) == {"t": (50, 60, 7, 60)}


@pytest.mark.parametrize(("low", "high"), [(51, 60), (0, 49)])
def test_offsets_the_topic_does_not_hold_are_refused(low: int, high: int) -> None:
    with pytest.raises(OffsetsLost, match="t-0: the state belongs to offset 50"):
        restored_ends(RestorePoint(9, (("t", 0, 50),)), {"t": (0,)}, {"t": (low,)}, {"t": (high,)}, tasks=1)


def test_a_partition_that_is_gone_is_refused() -> None:
    point = RestorePoint(9, (("t", 0, 5), ("t", 1, 5)))
    with pytest.raises(OffsetsLost, match="gone: t-1"):
        restored_ends(point, {"t": (0,)}, {"t": (0,)}, {"t": (9,)}, tasks=1)


BATCH = TaskBatch("new", 0, 10, 1_000, 0, (Range("t", 0, 50, 50),), restore=True)


def test_changelog_and_marker_must_agree() -> None:
    found = position_of(marker(9), BATCH.ranges)
    assert agreed_position("a-0-0", 0, BATCH, found, marker(9)) == found
    assert agreed_position("a-0-0", 0, BATCH, found, None) == found
    with pytest.raises(StateConflict, match="different times"):
        agreed_position("a-0-0", 0, BATCH, found, marker(8))
    with pytest.raises(StateConflict, match="the internal changelog is empty"):
        agreed_position("a-0-0", 0, BATCH, None, marker(9))


def test_a_marker_of_an_older_release_is_enough() -> None:
    old = marker(9, closing_time=None)
    assert agreed_position("a-0-0", 0, BATCH, None, old) == position_of(old, BATCH.ranges)


def test_a_task_that_never_committed_starts_empty() -> None:
    assert agreed_position("a-0-0", 0, BATCH, None, None) is None


def test_the_restore_s_own_commit_is_recognized() -> None:
    own = position_of(marker(10, job="new"), BATCH.ranges)
    assert agreed_position("a-0-0", 0, BATCH, own, own.marker) == own


@pytest.mark.parametrize(
    "found",
    [
        CommittedPosition(marker(10), (("t", 0, 55),)),
        CommittedPosition(marker(9), (("t", 0, 55),)),
        CommittedPosition(marker(11, job="new"), (("t", 0, 50),)),
    ],
    ids=["a later batch", "other offsets", "this job's own later batch"],
)
def test_a_job_that_goes_on_meanwhile_stops_the_restore(found: CommittedPosition) -> None:
    with pytest.raises(StateConflict, match="still runs somewhere"):
        agreed_position("a-0-0", 0, BATCH, found, found.marker)


def test_a_later_stage_stands_at_a_batch_not_at_offsets() -> None:
    batch = TaskBatch("new", 1, 10, 1_000, 0, (Range("a-1-task", 1, 0, 10),), restore=True)
    found = CommittedPosition(marker(9), (("a-1-task", 1, 9),))
    assert agreed_position("a-1-1", 1, batch, found, found.marker) == found
