"""Finds internal rows of a group's tasks at other places of the topology, and moves them to the current places."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forebay.processor.batch import BatchResult
from forebay.processor.bound_stores import declared_stores
from forebay.processor.timers import timer_names_of
from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.global_tables import global_stores, scan_of
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.moves import plan_moves
from forebay.runtime.task.places import Move, Wanted, Written
from forebay.runtime.task.reads import is_global
from forebay.runtime.task.snapshot import Place
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """The move of one place of the topology.

    Args:
        tail: tail of its internal changelog.
        task: None for a place that the topology no longer has.
    """

    tail: Tail
    task: StateTask | None
    move: Move

    @property
    def commit(self) -> TaskCommit:
        """The place's part of the transaction that moves a group's tasks."""
        # Without the stores' changelogs: these are named after the stores, so their rows do not move.
        router = ChangelogRouter({}, self.tail.rows.internal, self.tail.number)
        return TaskCommit(self.tail.name, "", BatchResult(changes=self.move.changes), self.move.position, router)

    def apply(self) -> None:
        """Apply the committed changes to the task's table."""
        if self.task is not None:
            self.task.table.apply(self.move.changes, self.move.position.tag)
            assert self.task.table.tag == self.move.position.tag, f"{self.tail.name}: the table is not as it was moved"
            self.task.dirty.update(dict.fromkeys(key for key, _ in self.move.changes))


def planned_moves(
    tasks: Sequence[StateTask], inputs: Mapping[Place, TaskInput], tails: Sequence[Tail], former: Sequence[Tail]
) -> list[PlannedMove]:
    """Return the moves of a group's tasks, whose tails have been read; empty if the topology has not changed.

    Args:
        tasks: tasks of a group, ordered by sub-topology and number.
        inputs: inputs of the tasks, by place.
        tails: tails of the tasks, in the same order.
        former: tails of internal changelogs that no longer belong to a sub-topology.
    """
    planned = []
    for number in sorted({tail.number for tail in tails}):
        mine: list[tuple[Tail, StateTask | None]] = [
            (tail, task) for tail, task in zip(tails, tasks, strict=True) if tail.number == number
        ]
        mine += [(tail, None) for tail in former if tail.number == number]
        wanted = [_wanted_task(task, inputs[task.place]) for _, task in mine if task is not None]
        written = [Written(_position(tail, task), scan_of(tail.table)) for tail, task in mine]
        planned += [PlannedMove(*mine[place], move) for place, move in plan_moves(wanted, written).items()]
    return planned


def log_moves(group: str, moves: Iterable[PlannedMove]) -> None:
    """Log which sub-topologies continue from which internal changelogs."""
    for move in moves:
        if move.task is not None:
            log.warning(
                "%s: the topology changed: sub-topology %s, task %d, takes over the positions of %d input partitions "
                "and %d rows with timers, event ids and store formats",
                group,
                move.task.settings.sub_topology,
                move.tail.number,
                len(move.move.position.ends),
                len(move.move.changes),
            )


def _position(tail: Tail, task: StateTask | None) -> TaskPosition | None:
    if tail.position is not None or task is None:
        return tail.position
    return task.position if task.position.n else None


def _wanted_task(task: StateTask, item: TaskInput) -> Wanted:
    return Wanted(
        task.settings.sub_topology,
        frozenset(
            (partition.topic, partition.partition) for partition in item.all_partitions if not is_global(partition)
        ),
        frozenset(one.topic for one in item.all_partitions if is_global(one)),
        frozenset(store.name for _, store in declared_stores(task.engine.processor)),
        global_stores(task, item),
        timer_names_of(task.engine.processor),
    )
