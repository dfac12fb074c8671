"""Takes over a group's tasks from their previous worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease, partitions
from forebay.runtime.protocol.position import TaskPosition, owner
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.coverage import Coverage
from forebay.runtime.task.ended_stores import deletions
from forebay.runtime.task.former_fillings import adopt_fillings
from forebay.runtime.task.global_tables import purges, without_lost_globals
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.moving import PlannedMove, log_moves, planned_moves
from forebay.runtime.task.ports import Committer, Surroundings
from forebay.runtime.task.reads import refuse_unknown
from forebay.runtime.task.replay import replay_changelogs
from forebay.runtime.task.snapshot import Place
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail, complete_tail, foreign
from forebay.stores.table import Change


class Takeover:
    """Checks the ownership of a group's tasks, and replays the changelogs into their tables.

    Args:
        name: name of the group.
    """

    def __init__(
        self,
        name: str,
        tasks: Sequence[StateTask],
        coverage: Coverage,
        surroundings: Surroundings,
        producer: Committer,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._tasks = tasks
        self._coverage = coverage
        self._surroundings = surroundings
        self._producer = producer
        self._monotonic = monotonic

    def refuse_foreign(self, lease: Lease, inputs: Mapping[Place, TaskInput]) -> set[tuple[str, int]]:
        """Check the owner of the tasks; return the partitions that the job has read, according to the marker group.

        Raises:
            StateConflict: the tasks belong to another checkpoint. Unavailable.
        """
        first = self._tasks[0]
        places = [(topic, number) for topic, offsets in lease.start.items() for number in partitions(offsets)]
        mine = [place for place in places if place[1] % lease.tasks in lease.numbers]
        handed = [(partition.topic, partition.partition) for item in inputs.values() for partition in item.repartitions]
        # Repartition topics, too, because a partition that was read, but that no position contains, must not be read
        # from its beginning.
        marks = self._surroundings.markers([*mine, *handed])
        # A restore takes over the state of another checkpoint, so the markers are expected to name that checkpoint.
        for place in () if lease.restore else mine:
            if place not in marks:
                continue
            checkpoint, _ = owner(marks[place])
            if checkpoint != lease.checkpoint:
                raise StateConflict(foreign(first.settings.name, checkpoint, lease.checkpoint))
        return set(marks)

    def complete(
        self, lease: Lease, inputs: Mapping[Place, TaskInput], marked: set[tuple[str, int]]
    ) -> dict[Place, TaskPosition | None]:
        """Bring the tables up to the last commit; return the tasks' positions.

        Args:
            marked: what `refuse_foreign` returned.

        Raises:
            StoreChanged: see `adopt_fillings`.
            StateConflict, Unavailable: the next attempt reads the changelogs from the same offsets.
        """
        begun = self._monotonic()
        former = [tail for number in lease.numbers for tail in self._surroundings.former(number)]

        def check(task: StateTask, tail: Tail) -> TaskPosition | None:
            known = task.position if task.position.n else None
            return complete_tail(task.settings.name, tail, known, lease.checkpoint, lease.restore)

        # The changelogs of former sub-topologies are read once, even if the replay of the others starts again.
        unread = list(former)

        def read(tails: list[Tail]) -> None:
            self._surroundings.read_tails([*tails, *unread])
            unread.clear()

        name, coverage = self._name, self._coverage
        old = coverage.is_too_old()
        tails = replay_changelogs(name, self._tasks, coverage.offsets, read, check, coverage.clear, is_too_old=old)
        seconds = self._monotonic() - begun
        known = [task.position for task in self._tasks] + [tail.position for tail in (*tails, *former) if tail.position]
        # Before anything is committed, because a missing position can't be restored once a new one replaces it.
        refuse_unknown(self._name, inputs.values(), known, marked)
        moves = planned_moves(self._tasks, inputs, tails, former)
        for move in moves:
            move.tail.position = move.move.position
        positions = {}
        # The moved positions are checked, because before the move, the position at a place may be of another
        # sub-topology, or missing.
        for task, tail in zip(self._tasks, tails, strict=True):
            positions[task.place] = check(task, tail)
        if moves:
            self._move(moves)
        self._adopt(positions, adopt_fillings(self._tasks, former))
        for task in self._tasks:
            position = positions[task.place]
            if position is not None:
                item = inputs[task.place]
                position = without_lost_globals(task, item, position)
                position = self._commit(task, position, purges(task, item, position))
                positions[task.place] = self._commit(task, position, deletions(task, position))
        for task, tail in zip(self._tasks, tails, strict=True):
            position = positions[task.place]
            task.dirty.update(tail.keys)
            # Only now, because during the replay the table has the tag of no commit, so that an interrupted replay does
            # not look complete.
            task.table.apply((), b"" if position is None else position.tag)
            if position is not None and not task.position.n:
                task.figures.restored_rows = len(task.table)
                # Not 0, which means that nothing was restored. A state may have no rows.
                task.figures.restore_seconds = max(seconds, 0.001)
            # Offsets and position are set together. If this attempt fails, the next one reads the tail from these
            # offsets and finds no position there.
            coverage.note(task, tail.offsets)
            task.position = position or task.position
        coverage.learn()
        return positions

    def _commit(self, task: StateTask, position: TaskPosition, commits: Iterable[TaskCommit]) -> TaskPosition:
        """Commit changes of a task's rows, each before the next one is made; return the new position."""
        for commit in commits:
            self._producer.commit([commit])
            self._apply(task, commit)
            position = commit.position
        return position

    def _adopt(
        self,
        positions: dict[Place, TaskPosition | None],
        changes: Sequence[tuple[StateTask, list[Change]]],
    ) -> None:
        """Commit changes of several tasks in one transaction. A task without a position has no rows yet."""
        commits = []
        for task, rows in changes:
            position = positions[task.place]
            if position is not None:
                commit = task.commit_of(rows, position)
                positions[task.place] = commit.position
                commits.append((task, commit))
        if commits:
            self._producer.commit([commit for _, commit in commits])
        for task, commit in commits:
            self._apply(task, commit)

    def _apply(self, task: StateTask, commit: TaskCommit) -> None:
        task.table.apply(commit.result.changes, commit.position.tag)
        task.dirty.update(dict.fromkeys(key for key, _ in commit.result.changes))

    def _move(self, moves: list[PlannedMove]) -> None:
        """Commit all moves in one transaction, so that after a kill either all rows have moved, or none."""
        log_moves(self._name, moves)
        self._producer.commit([move.commit for move in moves])
        for move in moves:
            move.apply()
