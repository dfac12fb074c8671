"""Keeps a group's snapshots in Spark's state, while the group's loop goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from forebay.runtime.errors import Unavailable
from forebay.runtime.stateformat import TaskSnapshot
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.snapshot import GroupStorage, Place

_PIECE_ROWS = 20_000

T = TypeVar("T")


class Loop(Protocol):
    """A group's loop (see `runner.GroupRunner`)."""

    group: TaskGroup

    def between_commits(self, call: Callable[[], T], seconds: float = ...) -> T:
        """Run `call` between two commits and return what it gives."""
        ...


class SnapshotKeeper:
    """Writes what one attempt at a lease leaves in Spark's state, a piece at a time: the loop never waits for long.

    Args:
        storage: begins with what Spark committed last; what is written counts once the lease's batch does.
    """

    def __init__(self, storage: GroupStorage) -> None:
        self._storage = storage

    def renew(self, loop: Loop) -> bool:
        """Tell whether a loop of the lease before can go on: Spark's state is what it wrote, or found."""
        writers = loop.group.writers
        stored = {place: self._storage.read(place) for place in writers}
        try:
            return loop.between_commits(lambda: False not in [writers[at].renew(found) for at, found in stored.items()])
        except Unavailable:
            return False

    def put_all(self, loop: Loop) -> None:
        """Put all rows where Spark's state lacks too much, before more come: as after a restore."""
        group = loop.group
        if not group.incomplete or not any(len(task.table) for task in group.tasks):
            return

        def put() -> None:
            for place, writer in group.writers.items():
                writer.all_rows(self._storage.blocks(place))

        loop.between_commits(put, 3_600.0)
        group.incomplete = False

    def put_waiting(self, loop: Loop) -> None:
        """Put what waits to be put, where it is much."""
        for place, writer in loop.group.writers.items():
            if writer.waiting > _PIECE_ROWS:
                self._put(loop, place)

    def write(self, loop: Loop) -> None:
        """Put what is missing and the snapshots that go with it. Raises Unavailable: nothing of it may count."""
        for place in loop.group.writers:
            self._put(loop, place)
        for place, snapshot in loop.between_commits(lambda: self._snapshots(loop.group)).items():
            self._storage.write(place, snapshot)

    def _put(self, loop: Loop, place: Place) -> None:
        loop.between_commits(loop.group.writers[place].cut).write(self._storage.blocks(place))

    def _snapshots(self, group: TaskGroup) -> dict[Place, TaskSnapshot]:
        for place, writer in group.writers.items():
            writer.cut().write(self._storage.blocks(place))
        group.mark()
        group.look_at_changelogs()
        offsets = group.offsets()
        return {place: writer.finished(offsets[place]) for place, writer in group.writers.items()}
