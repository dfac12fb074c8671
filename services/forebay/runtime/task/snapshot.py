"""A task's snapshot: rows as blocks, and the offsets from which the changelogs complete them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from forebay.runtime.changelog.stateformat import TaskSnapshot, decode_block, encode_block
from forebay.runtime.protocol.position import commits_in
from forebay.runtime.protocol.snapshot_mark import NUMBER
from forebay.runtime.task.state_task import StateTask
from forebay.stores.blocklog import BlockStorage, Rewriting, append, catch_up, split_changes
from forebay.stores.checksum import DamagedBlock
from forebay.stores.directory import Directory
from forebay.stores.table import Change

log = logging.getLogger(__name__)

Place = tuple[int, int]


class GroupStorage(Protocol):
    """Storage of the snapshots of a group's tasks, for one writer. Methods raise Unavailable."""

    @property
    def first_block(self) -> int:
        """Number of this writer's first block. No other writer uses the numbers from there on."""
        ...

    def snapshots(self, place: Place) -> Iterator[TaskSnapshot]:
        """Return a task's snapshots, newest first."""
        ...

    def blocks(self, place: Place) -> BlockStorage: ...

    def holds(self, place: Place, directory: Directory) -> bool:
        """Return whether the blocks of a directory exist, and no other writer has written since."""
        ...

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        """Write a snapshot's manifest, which makes it valid, after a commit that proves ownership of the group."""
        ...


class SnapshotWriter:
    """Encodes one task's changed rows as blocks of its next snapshot. Used between two commits only.

    A snapshot may hold rows that are newer than its offsets. The changelog replay puts them again.
    """

    def __init__(self, task: StateTask) -> None:
        self._task = task
        self._directory = Directory()
        self._rewriting: Rewriting | None = None

    @property
    def place(self) -> Place:
        """The task's sub-topology and number."""
        return self._task.place

    @property
    def directory(self) -> Directory:
        """The directory of all blocks that were cut."""
        return self._directory

    def load(self, storage: GroupStorage) -> TaskSnapshot | None:
        """Fill the table from the newest undamaged snapshot, unless the table is newer.

        Returns:
            The snapshot; None if there is no usable snapshot.
        """
        task = self._task
        blocks = storage.blocks(task.place)
        for stored in storage.snapshots(task.place):
            # If statements were added or removed, a snapshot with this place's number may be of another sub-topology.
            if self._is_of_task(stored) and self._fill(stored, blocks):
                # The blocks of the previous writer stay in use. New ones get numbers of this writer, so no file is
                # written twice.
                self._directory = replace(stored.directory, next_block=storage.first_block)
                return stored
        # Without a snapshot, all changelogs are read. They may have lost deletes of rows that a standby's old copy
        # still has.
        task.table.clear()
        self._directory = Directory(next_block=storage.first_block)
        return None

    def _fill(self, stored: TaskSnapshot, blocks: BlockStorage) -> bool:
        """Fill the table as a snapshot left it; return False if one of its blocks is missing or damaged."""
        table, position = self._task.table, stored.position
        # A table of the same commit is filled again, because it may lack rows of that commit, and the replay begins
        # behind them.
        if position.n < commits_in(table.tag, position.checkpoint, position.sub_topology):
            return True
        try:
            catch_up(table, stored.directory, blocks, decode_block)
            assert table.tag == stored.directory.tag, f"{self._task.settings.name}: the table is not as of its snapshot"
        except (DamagedBlock, KeyError) as error:
            reason = f"block {error.args[0]:016x} is missing" if isinstance(error, KeyError) else str(error)
            name = self._task.settings.name
            log.warning("%s: the snapshot of commit %d can't be used: %s", name, position.n, reason)
            table.clear()
            return False
        return True

    def _is_of_task(self, stored: TaskSnapshot) -> bool:
        """Return whether a snapshot is of the sub-topology that has this place now, with its current stores."""
        topics = stored.offsets.keys() - {NUMBER}
        if self._task.was_left(stored.position) and topics <= set(self._task.changelog_rows.topics):
            return True
        log.warning(
            "%s: the snapshot of commit %d is not used, because it is of another sub-topology or of other stores",
            self._task.settings.name,
            stored.position.n,
        )
        return False

    @property
    def waiting(self) -> int:
        """Number of changed rows that are in no block yet."""
        return len(self._task.dirty)

    def cut(self) -> dict[int, bytes]:
        """Encode the rows that have changed since the last cut; return the new blocks, folded ones included."""
        task = self._task
        get = task.table.get
        changes: list[Change] = [(key, get(key)) for key in task.dirty]
        blocks = [encode_block(rows) for rows in split_changes(changes)]
        if not blocks:
            return {}
        directory, put = append(self._directory, blocks, task.position.tag, task.table, encode_block)
        # Last, because the next cut must still have these rows if memory runs out above.
        self._directory, task.dirty = directory, {}
        return put

    def begin_rewriting(self) -> None:
        """Begin to write all rows, in place of the previous blocks."""
        task = self._task
        before = self._directory if self._rewriting is None else self._rewriting.directory()
        task.dirty = {}
        # Numbers continue, because blocks of the previous attempt may already be in the store, and no number may be
        # used twice.
        self._rewriting = Rewriting(task.table, task.position.tag, encode_block, before.next_block)

    @property
    def is_rewriting(self) -> bool:
        """Whether a rewrite of all rows is in progress. Until it is done, nothing is cut."""
        return self._rewriting is not None

    def rewrite(self, put: Callable[[int, bytes], None], most: int) -> int:
        """Pass the next blocks of all rows to `put`, at most `most` of them; return how many."""
        rewriting = self._rewriting
        if rewriting is None:
            return 0
        count = rewriting.put(put, most)
        if rewriting.is_done:
            self._directory, self._rewriting = rewriting.directory(), None
        return count

    def snapshot(self, offsets: dict[str, int], known_at: int) -> TaskSnapshot:
        """Return a snapshot of all blocks that were cut.

        Args:
            offsets: by changelog topic: where the replay that completes the rows begins.
            known_at: time at which the offsets were read (wall clock, ms).
        """
        task, name = self._task, self._task.settings.name
        assert self._rewriting is None, f"{name}: the snapshot would lack rows that are still to be put"
        assert not task.dirty, f"{name}: the snapshot would lack {len(task.dirty)} changed rows"
        foreign = offsets.keys() - {NUMBER, *task.changelog_rows.topics}
        assert not foreign, f"{name}: the snapshot has offsets of {foreign}, which are not the task's changelogs"
        return TaskSnapshot(
            position=task.position,
            offsets=offsets,
            # A snapshot is as old as its offsets, because deletes behind them must still be in the changelogs when a
            # start reads them.
            written_at=known_at,
            rows=len(task.table),
            bytes=task.table.size_bytes,
            directory=self._directory,
        )
