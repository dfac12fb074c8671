"""A task's snapshot in Spark's state: rows as blocks, and the offsets from which the changelogs complete them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import TaskPosition, commits_in
from forebay.runtime.protocol.snapshot_mark import NUMBER
from forebay.runtime.stateformat import TaskSnapshot, decode_block, encode_block
from forebay.runtime.task.state_task import StateTask
from forebay.stores.blocklog import BlockStorage, Rewriting, append, blocks_of, catch_up, split_changes
from forebay.stores.checksum import DamagedBlock
from forebay.stores.directory import Directory
from forebay.stores.table import Change

log = logging.getLogger(__name__)

Place = tuple[int, int]


class GroupStorage(Protocol):
    """Where the snapshots of a group's tasks are kept; writes count only when the Spark batch does."""

    def read(self, place: Place) -> TaskSnapshot | None: ...

    def write(self, place: Place, snapshot: TaskSnapshot) -> None: ...

    def blocks(self, place: Place) -> BlockStorage: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """Blocks of one task that are to be put, and those that go."""

    place: Place
    put: dict[int, bytes]
    delete: tuple[int, ...]


class SnapshotWriter:
    """What of one task is in Spark's state, and what has to be put there. Used between two commits only.

    A snapshot may hold rows that are newer than the offsets it goes with: the changelogs' tail puts them again.

    Args:
        stored: what Spark's state holds now.
    """

    def __init__(self, task: StateTask, stored: TaskSnapshot | None) -> None:
        self._task = task
        self._stored = stored
        self._directory = Directory() if stored is None else stored.directory
        self._written: TaskSnapshot | None = None
        self._unconfirmed: dict[bytes, None] = {}
        self._is_all_new = False
        """Whether all rows were put since the state was last confirmed."""
        self._rewriting: Rewriting | None = None

    def load(self, storage: BlockStorage, position_n: int) -> TaskPosition | None:
        """Fill the table as the snapshot left it, unless it holds that and more already.

        Args:
            position_n: commits that the table may hold at most.

        Returns:
            Where the snapshot stands; None if there is none, or it was written before the topology changed.
        """
        table, stored = self._task.table, self._stored
        if stored is not None and not self._is_of_task(stored):
            log.warning(
                "%s: the snapshot is of another sub-topology, or of other stores: restoring from the changelogs",
                self._task.settings.name,
            )
            table.clear()
            return None
        if stored is None:
            # All changelogs are read then. They may have lost deletes of rows that a standby's old copy still has.
            table.clear()
            return None
        held = commits_in(table.tag, stored.position.checkpoint, stored.position.sub_topology)
        # As far as the snapshot is not enough: a copy may lack rows of its last commit, which only a tail gives again.
        if not stored.position.n < held <= position_n:
            try:
                catch_up(table, self._directory, storage, decode_block)
            except DamagedBlock as error:
                raise StateConflict(f"{self._task.settings.name}: {error}") from error
        return stored.position

    def _is_of_task(self, stored: TaskSnapshot) -> bool:
        """Return whether a snapshot was written for the sub-topology that has this place now, with these stores."""
        topics = stored.offsets.keys() - {NUMBER}
        return self._task.was_left(stored.position) and topics <= set(self._task.changelog_rows.topics)

    def renew(self, stored: TaskSnapshot | None) -> bool:
        """Take in what a new lease finds in Spark's state; False where the group has to be built from that anew.

        That is where somebody else wrote it, or where all rows were put and that was taken back: what the state still
        holds of rows that are gone, nobody knows here.
        """
        if self._written is not None and stored == self._written:
            self._unconfirmed.clear()
        elif stored == self._stored and not self._is_all_new:
            # The batch before was taken back: what it put has to be put again.
            self._task.dirty.update(self._unconfirmed)
            self._directory = Directory() if stored is None else stored.directory
        else:
            return False
        self._stored, self._written, self._is_all_new = stored, None, False
        return True

    @property
    def waiting(self) -> int:
        """Number of rows that have to be put."""
        return len(self._task.dirty)

    def cut(self) -> Piece:
        """Return the blocks of all rows that have changed since the last cut, folding included."""
        task = self._task
        get, dirty = task.table.get, task.dirty
        changes: list[Change] = [(key, get(key)) for key in dirty]
        self._unconfirmed.update(dirty)
        task.dirty = {}
        blocks = [encode_block(part) for part in split_changes(changes)]
        if not blocks:
            return Piece(task.place, {}, ())
        before = self._directory
        written = append(before, blocks, task.position.tag, task.table, encode_block)
        self._directory = written.directory
        return Piece(task.place, written.put, written.delete)

    def begin_anew(self) -> set[int]:
        """Begin to put all rows anew, and return the blocks whose place they take."""
        task = self._task
        before = self._directory if self._rewriting is None else self._rewriting.directory()
        self._is_all_new = True
        self._unconfirmed.update(task.dirty)
        task.dirty = {}
        self._rewriting = Rewriting(task.table, task.position.tag, encode_block, before.next_block)
        return blocks_of(before)

    @property
    def is_anew(self) -> bool:
        """Whether not all rows were put that are put anew: until they are, nothing is cut."""
        return self._rewriting is not None

    def put_anew(self, storage: BlockStorage, most: int) -> int:
        """Put the next blocks of rows that are put anew, `most` of them at once; return how many."""
        rewriting = self._rewriting
        if rewriting is None:
            return 0
        count = rewriting.put(storage.put_block, most)
        if rewriting.is_done:
            self._directory, self._rewriting = rewriting.directory(), None
        return count

    def finished(self, offsets: dict[str, int], known_at: int) -> TaskSnapshot:
        """Return the snapshot that goes with everything cut so far.

        Args:
            offsets: by changelog topic, from which its tail completes the rows.
            known_at: when the offsets were learnt, wall clock in ms.
        """
        task = self._task
        self._written = TaskSnapshot(
            position=task.position,
            offsets=offsets,
            written_at=known_at,
            rows=len(task.table),
            bytes=task.table.size_bytes,
            directory=self._directory,
        )
        return self._written
