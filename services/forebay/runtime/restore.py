"""What a restore goes on from: pure, given what markers and changelogs say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from forebay.runtime.batch import TaskBatch
from forebay.runtime.committed import CommittedPosition, Ends, position_of
from forebay.runtime.errors import OffsetsLost, StateConflict
from forebay.runtime.marker import Marker

Task = tuple[int, int]
"""Stage and number of a task."""


class Restore(Enum):
    """When a job takes its state from its changelogs: never, if it has no checkpoint, or to do just that."""

    NO = "no"
    IF_MISSING = "if missing"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """Where a job whose checkpoint is gone goes on.

    Args:
        batch: number of the last batch that any task committed.
        ends: of the input partitions that any task committed offsets of.
        lost: tasks that were handed records in that batch by a stage before and did not commit them.
    """

    batch: int
    ends: Ends
    lost: tuple[Task, ...] = ()


def restore_point(positions: Mapping[Task, CommittedPosition]) -> RestorePoint | None:
    """Give where the tasks that committed anything go on together; None where none did.

    A task whose last batch is older than another's was idle since, or did not get to commit the last one. In both
    cases its own input offsets fit its state. But what a stage handed on in the last batch can't be read again.
    """
    if not positions:
        return None
    last = max(position.marker.batch for position in positions.values())
    ends: dict[tuple[str, int], int] = {}
    lost: set[Task] = set()
    for (stage, _), position in positions.items():
        if stage == 0:
            ends.update({(topic, partition): end for topic, partition, end in position.ends})
        if position.marker.batch == last:
            targets = (task for task in range(position.marker.handed_to.bit_length()))
            handed = {(stage + 1, task) for task in targets if position.marker.handed_to >> task & 1}
            lost |= {task for task in handed if task not in positions or positions[task].marker.batch != last}
    return RestorePoint(last, tuple((*place, end) for place, end in sorted(ends.items())), tuple(sorted(lost)))


def closing_times(positions: Mapping[Task, CommittedPosition]) -> dict[Task, int]:
    """Give the time (ms) up to which each task's results are final, for tasks that have seen a record."""
    return {
        task: max(position.marker.stream_time, position.marker.closing_time or -1)
        for task, position in positions.items()
        if position.marker.stream_time >= 0
    }


def restored_ends(
    point: RestorePoint,
    start: Mapping[str, tuple[int, ...]],
    earliest: Mapping[str, tuple[int, ...]],
    latest: Mapping[str, tuple[int, ...]],
    tasks: int,
) -> dict[str, tuple[int, ...]]:
    """Give the offsets a restored job reads from, by topic and partition.

    Args:
        start: where a job without state would begin: so does a task that never committed. A partition that was added
            to a topic after its task's last commit is read from its `earliest` offset.

    Raises:
        OffsetsLost: the topics don't hold those offsets.
    """
    known = {(topic, partition): end for topic, partition, end in point.ends}
    seen = {(topic, partition % tasks) for topic, partition in known}
    ends: dict[str, list[int]] = {}
    for topic, offsets in start.items():
        for partition, begin in enumerate(offsets):
            unread = earliest[topic][partition] if (topic, partition % tasks) in seen else begin
            end = known.pop((topic, partition), unread)
            low, high = earliest[topic][partition], latest[topic][partition]
            if not low <= end <= high:
                raise OffsetsLost(
                    f"{topic}-{partition}: the state belongs to offset {end}, but the topic holds {low} to {high}: it "
                    "was truncated or made anew. Put it back, or start over with `forebay reset`"
                )
            ends.setdefault(topic, []).append(end)
    if known:
        gone = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(known))
        raise OffsetsLost(f"the state was made of partitions that are gone: {gone}: start over with `forebay reset`")
    return {topic: tuple(values) for topic, values in ends.items()}


def agreed_position(
    name: str, stage: int, batch: TaskBatch, found: CommittedPosition | None, marker: Marker | None
) -> CommittedPosition | None:
    """Give where a task's changelogs stand, once they agree with its marker and with what the restore was planned from.

    Args:
        name: of the task.
        found: what its internal changelog says; releases that kept no closing time in markers kept no position there.

    Raises:
        StateConflict: another job went on meanwhile, or changelog and marker are of different times.
    """
    if found is None:
        if marker is None:
            return None
        if marker.closing_time is None:
            return position_of(marker, batch.ranges)
        raise StateConflict(
            f"{name}: the marker stands at batch {marker.batch}, but the internal changelog is empty: it was deleted "
            "or made anew. The state can't be restored from it: `forebay reset` starts over"
        )
    if marker is not None and (marker.job, marker.batch, marker.tag) != (
        found.marker.job,
        found.marker.batch,
        found.marker.tag,
    ):
        raise StateConflict(
            f"{name}: the changelog stands at batch {found.marker.batch} of checkpoint {found.marker.job}, the marker "
            f"at batch {marker.batch} of {marker.job}: topics and groups are of different times. Put back those that "
            "belong together, or `forebay reset` starts over"
        )
    ends = {(topic, partition): end for topic, partition, end in found.ends}
    planned = {(item.topic, item.partition): item.end for item in batch.ranges}
    mine = found.marker.job == batch.job
    moved = batch.batch != found.marker.batch if mine else batch.batch <= found.marker.batch
    if moved or (stage == 0 and any(planned.get(place) != end for place, end in ends.items())):
        raise StateConflict(
            f"{name}: batch {found.marker.batch} was committed while the restore began: the job still runs somewhere. "
            "Stop it, delete this checkpoint, and restore again"
        )
    return found
