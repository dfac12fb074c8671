"""A lease's row contains only the offsets of its group's partitions, so its size does not depend on the group count."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.job import Job, global_tables
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease, LeaseOffset, partitions
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.reads import task_input

Read = tuple[str, int, int, int]
"""Topic, partition, first offset and end offset of a partition that a task reads."""


def built_job() -> Job:
    """Return a job that joins a stream with a table and with a global table."""

    def build(_: object) -> Topology:
        topology = Topology()
        customers = topology.table("customers", str, store="customers")
        rates = topology.global_table("rates", str, store="rates")
        orders = topology.stream("orders", str).join(customers, lambda left, right: left + right, str)
        orders.join(rates, lambda left, right: left + right, str, key_of=lambda key, _: key).to("results")
        return topology

    return job(NoSettings, build)


JOB = built_job()
WHOLE = global_tables(JOB)


def offset_of(groups: int, tasks: int, factor: int = 1, rates: int = 3) -> LeaseOffset:
    """Return a source offset. `orders` has `factor` partitions per task, `rates` has `rates` partitions."""
    start = {
        "orders": tuple(range(tasks * factor)),
        "customers": tuple(range(100, 100 + tasks)),
        "rates": tuple(range(rates)),
    }
    until = {topic: tuple(offset + 7 for offset in offsets) for topic, offsets in start.items()}
    return LeaseOffset("c1", 3, groups, tasks, 1_700, start, {topic: f"id-{topic}" for topic in start}, until)


def reads_of(lease: Lease, position: TaskPosition) -> dict[int, list[Read]]:
    """Return topic, partition, first offset and end offset of each partition, by task number."""
    reads = {}
    for number in lease.numbers:
        parts = task_input(JOB, "app", (0, number), lease, position).partitions
        reads[number] = [(part.topic, part.partition, part.next, part.until) for part in parts]
    return reads


POSITIONS = (
    TaskPosition("c1", 0),
    TaskPosition("c1", 4, ends=(("orders", 0, 50), ("customers", 1, 90), ("rates", 2, 1))),
)
SHAPES = [(1, 1, 1), (1, 4, 2), (2, 5, 1), (3, 3, 3), (4, 6, 2), (5, 5, 4)]


@pytest.mark.parametrize(("groups", "tasks", "factor"), SHAPES)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("ends_by_itself", [True, False])
def test_tasks_read_the_same_as_with_the_offsets_of_all_partitions(
    groups: int, tasks: int, factor: int, position: TaskPosition, ends_by_itself: bool
) -> None:
    offset = offset_of(groups, tasks, factor)
    if not ends_by_itself:
        offset = replace(offset, until=None)
    for lease in offset.leases(WHOLE):
        from_row = Lease.from_json(lease.to_json())
        assert reads_of(from_row, position) == reads_of(
            replace(lease, start=offset.start, until=offset.until), position
        )


@pytest.mark.parametrize(("groups", "tasks", "factor"), SHAPES)
def test_a_row_holds_the_partitions_of_its_tasks_and_whole_global_tables(groups: int, tasks: int, factor: int) -> None:
    for lease in offset_of(groups, tasks, factor).leases(WHOLE):
        from_row = Lease.from_json(lease.to_json())
        own = {partition for partition in range(tasks * factor) if partition % tasks in lease.numbers}
        for offsets in (from_row.start, from_row.until):
            assert offsets is not None
            assert set(partitions(offsets["orders"])) == own
            assert list(partitions(offsets["rates"])) == [0, 1, 2]


def test_rows_do_not_grow_with_the_number_of_groups() -> None:
    few, many = (max(len(lease.to_json()) for lease in offset_of(n, n).leases(WHOLE)) for n in (100, 1_000))
    # Offsets and numbers are one digit longer in `many`.
    assert few <= many < few + 20


def test_a_row_of_a_driver_of_release_0_2_is_read() -> None:
    """Rows of release 0.2 contain the offsets of all partitions, and no format version."""
    offset = offset_of(2, 4, 2)
    for lease in offset.leases(WHOLE):
        row = json.loads(replace(lease, start=offset.start, until=offset.until).to_json())
        del row["v"]
        assert reads_of(Lease.from_json(json.dumps(row)), POSITIONS[1]) == reads_of(lease, POSITIONS[1])


def test_a_row_of_a_later_release_is_refused() -> None:
    (lease,) = offset_of(1, 1).leases(WHOLE)
    row = {**json.loads(lease.to_json()), "v": 4}
    with pytest.raises(StateConflict, match="leases have format 4, this worker reads formats 2 and 3"):
        Lease.from_json(json.dumps(row))


def test_a_global_table_is_never_read_in_part() -> None:
    """The driver's release may read this topic as a stream."""
    lease, _ = offset_of(2, 2).leases()
    with pytest.raises(StateConflict, match="rates: this worker's code reads it as a global table"):
        reads_of(lease, POSITIONS[0])


@pytest.mark.parametrize("position", POSITIONS)
def test_nothing_is_read_of_a_partition_that_was_added_during_a_run_that_ends_by_itself(position: TaskPosition) -> None:
    before, grown = offset_of(2, 4), offset_of(2, 4, factor=2, rates=5)
    offset = replace(grown, until=before.until)
    for lease in offset.leases(WHOLE):
        reads = reads_of(lease, position)
        for number, parts in reads.items():
            new = [(topic, part) for topic, part, _, _ in parts if part >= len(before.start[topic])]
            assert new == [("orders", number + 4), ("rates", 3), ("rates", 4)]
            assert all(until == begin for topic, part, begin, until in parts if (topic, part) in new)
            inputs = task_input(JOB, "app", (0, number), lease, position).partitions
            assert all(part.is_done and part.is_read for part in inputs if (part.topic, part.partition) in new)


def test_nothing_is_read_of_a_topic_that_was_added_during_such_a_run() -> None:
    offset = offset_of(1, 1)
    assert offset.until is not None
    (lease,) = replace(offset, until={"customers": offset.until["customers"]}).leases(WHOLE)
    reads = reads_of(lease, POSITIONS[0])[0]
    assert [(topic, until - begin) for topic, _, begin, until in reads] == [
        ("customers", 7),
        ("orders", 0),
        *[("rates", 0)] * 3,
    ]


def test_a_restore_alone_has_no_ends() -> None:
    (lease,) = replace(offset_of(1, 1), until={}, restore=True, restore_only=True).leases(WHOLE)
    assert {until for _, _, _, until in reads_of(lease, POSITIONS[0])[0]} == {-1}
