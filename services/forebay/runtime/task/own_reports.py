"""Bad records of a global table that a sub-topology reports itself, although another one usually reports them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from forebay.runtime.protocol.position import TaskPosition

Place = tuple[int, int]
"""Number of the sub-topology, and of the task."""


def with_own_reports(
    place: Place, position: TaskPosition, elsewhere: Collection[str], positions: Mapping[Place, TaskPosition | None]
) -> TaskPosition:
    """Return a task's position with the offsets before which it reports bad records of global tables itself.

    The first sub-topology that reads a table reports its bad records. A sub-topology that is added later reads the
    whole table, including the part that the first one has read already and does not read again. Earlier code may have
    been able to read records of this part that are bad now.

    Args:
        elsewhere: topics whose bad records another task reports.
        positions: positions of the group's tasks. If the group has the first task of one sub-topology, it has the
            first task of every sub-topology.
    """
    if place[1] or not elsewhere:
        return replace(position, reports=()) if position.reports else position
    known = {(topic, partition) for topic, partition, _ in position.ends}
    reports = {end[:2]: end[2] for end in position.reports}
    for other, earlier in positions.items():
        if earlier is None or other[0] >= place[0] or other[1]:
            continue
        for topic, partition, end in earlier.ends:
            if topic in elsewhere and (topic, partition) not in known and end:
                reports[topic, partition] = max(end, reports.get((topic, partition), 0))
    return replace(position, reports=tuple((*at, end) for at, end in sorted(reports.items())))
