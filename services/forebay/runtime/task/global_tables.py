"""Stores of global tables: whether they have the rows that their task has read, and how they are filled again.

Of the sub-topologies that read a global table, the first by name keeps its rows in the table's store. The other
sub-topologies keep copies in stores of other names. If statements are added or removed, a store may move to another
sub-topology, and a sub-topology may get another store. That store then contains the rows that its former sub-topology
has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from forebay.processor.bound_stores import declared_stores
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.reads import is_global
from forebay.runtime.task.state_task import StateTask
from forebay.stores.internal import KINDS
from forebay.stores.table import Table, prefix_end

_MOST = 50_000
"""Rows deleted in one transaction, because a global table may be large and a transaction must end in time."""


def global_stores(task: StateTask, item: TaskInput) -> frozenset[tuple[str, str]]:
    """Return the topics of the global tables that a task reads, each with the name of its store."""
    return frozenset(
        (partition.topic, store.name)
        for _, store in declared_stores(task.engine.processor)
        for partition in item.partitions
        if store.is_global and is_global(partition) and partition.order[1] == store.source
    )


def with_global_stores(task: StateTask, item: TaskInput, position: TaskPosition) -> TaskPosition:
    """Return a position that records the stores of its global tables, including those that are no longer read."""
    declared = global_stores(task, item)
    unread = {topic for topic, _, _ in position.ends} - {topic for topic, _ in declared}
    former = [record for record in position.global_stores if record[0] in unread]
    return replace(position, global_stores=tuple(sorted({*declared, *former})))


def without_lost_globals(task: StateTask, item: TaskInput, position: TaskPosition) -> TaskPosition:
    """Return a position without the offsets of global tables whose stores lack rows, so that they are read again."""
    lost = set()
    for topic, store in global_stores(task, item):
        is_recorded = task.table.get(KINDS + store.encode()) is not None
        # Positions of earlier releases do not record the stores. There, a recorded format shows that a store has rows.
        if (topic, store) not in position.global_stores if position.global_stores else not is_recorded:
            lost.add(topic)
    return replace(position, ends=tuple(end for end in position.ends if end[0] not in lost)) if lost else position


def purges(task: StateTask, item: TaskInput, position: TaskPosition) -> Iterator[TaskCommit]:
    """Yield commits that delete the rows of global tables that are read from the beginning.

    Another sub-topology wrote these rows. If a key was deleted since, its delete may be gone from the compacted topic,
    and reading the topic again would leave its row. The record of the store's format stays, because it shows that the
    store now belongs to this sub-topology.
    """
    known = {topic for topic, _, _ in position.ends}
    for topic, store in sorted(global_stores(task, item)):
        if topic in known:
            continue
        rows = scan_of(task.table)
        # The caller deletes the rows of one commit before it asks for the next one.
        while keys := [key for key, _ in islice(rows(store.encode() + b"\0"), _MOST)]:
            commit = task.commit_of([(key, None) for key in keys], position)
            position = commit.position
            yield commit


def scan_of(table: Table) -> Callable[[bytes], Iterable[tuple[bytes, bytes]]]:
    """Return a function that scans the rows of a table whose keys begin with a prefix."""
    return lambda prefix: table.scan(prefix, prefix_end(prefix))
