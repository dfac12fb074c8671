"""Keeps a group's snapshots in Spark's state, while the group's loop goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from forebay.runtime.errors import Unavailable
from forebay.runtime.stateformat import TaskSnapshot
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.runner import LoopBusy
from forebay.runtime.task.snapshot import GroupStorage, Piece, Place, SnapshotWriter

_PIECE_ROWS = 50_000
"""A cut of so many rows of 400 bytes, folding included, takes the loop a quarter of a second of CPU. What changes again
before it is put is put once: in a backlog, rows of fewer keys than these only at the end of a lease."""
_TOGETHER_ROWS = 5_000
_PIECE_BLOCKS = 10
"""Blocks of rows put anew at a time: some 50,000 rows of 180 bytes, a tenth of a second."""
_ALL_SECONDS = 3_600.0
"""How long all rows may take, at the end of a lease."""

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
        piece_rows: how many rows of a task may wait to be put while the lease lasts.
        piece_blocks: how many blocks of rows that are put anew the loop waits for at a time.
    """

    def __init__(self, storage: GroupStorage, piece_rows: int = _PIECE_ROWS, piece_blocks: int = _PIECE_BLOCKS) -> None:
        self._storage = storage
        self._piece_blocks = piece_blocks
        self._piece_rows = piece_rows
        self._deletes: dict[Place, list[int]] = {}
        """Blocks that the snapshots in the state still need: they go when others take their place."""

    def renew(self, loop: Loop) -> bool:
        """Return whether the loop of the previous lease can continue: Spark's state is what it wrote or read.

        Raises:
            LoopBusy: the loop did not answer.
        """
        writers = loop.group.writers
        stored = {place: self._storage.read(place) for place in writers}
        try:
            return loop.between_commits(lambda: False not in [writers[at].renew(found) for at, found in stored.items()])
        except LoopBusy:
            raise
        except Unavailable:
            return False

    def put_waiting(self, loop: Loop) -> None:
        """Put what waits to be put, where it is much: some of it, where Spark's state lacks all, as after a restore."""
        if self._lacks_all(loop.group):
            self._put_anew(loop, self._piece_blocks)
            return
        for writer in loop.group.writers.values():
            if writer.waiting > self._piece_rows:
                self._put(loop, [writer])

    def write(self, loop: Loop) -> None:
        """Put what is missing, and the snapshots in place of those before. Raises Unavailable: those before count."""
        if self._lacks_all(loop.group):
            self._put_anew(loop, sys.maxsize, _ALL_SECONDS)
        for writers in self._together(loop.group.writers.values()):
            self._put(loop, writers)
        for place, snapshot in loop.between_commits(lambda: self._snapshots(loop.group)).items():
            self._storage.write(place, snapshot)
            blocks = self._storage.blocks(place)
            for number in self._deletes.pop(place, ()):
                blocks.delete_block(number)

    def _lacks_all(self, group: TaskGroup) -> bool:
        return group.incomplete or any(writer.is_anew for writer in group.writers.values())

    def _put_anew(self, loop: Loop, most: int, seconds: float = 120.0) -> None:
        group = loop.group

        def put() -> None:
            if group.incomplete:
                for place, writer in group.writers.items():
                    self._deletes.setdefault(place, []).extend(writer.begin_anew())
                group.incomplete = False
            left = most
            for place, writer in group.writers.items():
                left -= writer.put_anew(self._storage.blocks(place), left)

        loop.between_commits(put, seconds)

    def _together(self, writers: Iterable[SnapshotWriter]) -> Iterator[list[SnapshotWriter]]:
        """Group tasks by what waits to be put: each time the loop is asked takes as long as its cycle."""
        together: list[SnapshotWriter] = []
        rows = 0
        for writer in writers:
            rows += writer.waiting
            together.append(writer)
            if rows >= min(self._piece_rows, _TOGETHER_ROWS):
                yield together
                together, rows = [], 0
        if together:
            yield together

    def _put(self, loop: Loop, writers: list[SnapshotWriter]) -> None:
        for piece in loop.between_commits(lambda: [writer.cut() for writer in writers]):
            self._take(piece)

    def _take(self, piece: Piece) -> None:
        blocks = self._storage.blocks(piece.place)
        for number, data in piece.put.items():
            blocks.put_block(number, data)
        self._deletes.setdefault(piece.place, []).extend(piece.delete)

    def _snapshots(self, group: TaskGroup) -> dict[Place, TaskSnapshot]:
        if self._lacks_all(group):
            raise Unavailable("the changelogs were read anew meanwhile")
        for writer in group.writers.values():
            self._take(writer.cut())
        group.look_at_changelogs()
        group.mark()
        offsets = group.offsets()
        return {place: writer.finished(offsets[place], group.known_at) for place, writer in group.writers.items()}
