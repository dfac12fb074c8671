"""Writes a group's snapshots while the group's loop runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from forebay.runtime.changelog.stateformat import TaskSnapshot
from forebay.runtime.errors import StoreUnavailable, Unavailable
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.snapshot import GroupStorage, Place, SnapshotWriter

_PIECE_ROWS = 50_000
"""Changed rows of a task from which they are written before the next snapshot is due.

A cut of this many rows of 400 bytes, folding included, takes the loop a quarter of a second of CPU. A row that changes
again before it is written is written once."""
# The loop takes about 25 ms to cut this many rows, and processes nothing in that time.
_TOGETHER_ROWS = 5_000
ALL_SECONDS = 3_600.0
"""How long a snapshot may take if no other lease follows."""
_PIECE_BLOCKS = 10
"""Blocks that a rewrite of all rows encodes at a time: some 50,000 rows of 180 bytes, a tenth of a second, 9 MB."""

T = TypeVar("T")


class Loop(Protocol):
    """A group's loop (see `runner.GroupRunner`)."""

    group: TaskGroup

    def between_commits(self, call: Callable[[], T], seconds: float = ...) -> T:
        """Run `call` between two commits and return its result."""
        ...


class SnapshotKeeper:
    """Writes the snapshots of one loop's group, across its leases.

    The loop's thread only encodes blocks, a few at a time. They are sent to the store while the loop continues. Blocks
    that could not be sent stay here, and the next call sends them first.

    Args:
        storage: used by this loop alone.
        piece_rows: number of changed rows of a task from which they are written before the next snapshot is due.
        piece_blocks: number of blocks that a rewrite of all rows encodes at a time.
    """

    def __init__(self, storage: GroupStorage, piece_rows: int = _PIECE_ROWS, piece_blocks: int = _PIECE_BLOCKS) -> None:
        self._storage = storage
        self._piece_blocks = piece_blocks
        self._piece_rows = piece_rows
        self._unsent: dict[Place, dict[int, bytes]] = {}
        self._deadline = float("inf")
        self.trouble = ""
        """Why the store did not accept the last snapshot; empty if it did."""

    def put_waiting(self, loop: Loop) -> None:
        """Write changed rows if many are waiting, or the next blocks of all rows, as after a restore."""
        self._deadline = float("inf")
        self._send()
        if self._lacks_all(loop.group):
            self._rewrite(loop)
            return
        for writer in loop.group.writers.values():
            # Fewer rows wait, so that a row that changes again before the next snapshot is written only once.
            if writer.waiting > self._piece_rows:
                self._cut(loop, [writer])

    def write(self, loop: Loop, seconds: float = ALL_SECONDS) -> None:
        """Write the snapshots.

        Args:
            seconds: longest time that it may take.

        Raises:
            Unavailable: it failed, or took too long. Earlier snapshots stay valid, and the next call continues with
                the remaining blocks.
        """
        # One deadline for all steps, because a slow store must not take that long for each block.
        self._deadline = time.monotonic() + seconds
        try:
            self._write(loop)
        except StoreUnavailable as error:
            self.trouble = str(error)
            raise
        self.trouble = ""

    def _write(self, loop: Loop) -> None:
        self._send()
        group = loop.group
        # Another writer deletes the files that its own snapshots don't need, which may include blocks of this
        # loop. So no block of an earlier snapshot can be relied on.
        if not all(self._storage.holds(place, writer.directory) for place, writer in group.writers.items()):
            group.coverage.is_incomplete = True
        while self._lacks_all(group):
            self._rewrite(loop)
        for writers in self._together(group.writers.values()):
            self._cut(loop, writers)
        # Between two commits, so that rows, position and offsets of all tasks are of the same moment.
        snapshots = loop.between_commits(lambda: self._snapshots(group))
        self._send()
        assert not any(self._unsent.values()), "a manifest would name blocks that were not sent"
        # The manifests come after all blocks: a start must never find a manifest whose blocks were not sent yet.
        for place, snapshot in snapshots.items():
            self._storage.write(place, snapshot)

    def _lacks_all(self, group: TaskGroup) -> bool:
        return group.coverage.is_incomplete or any(writer.is_rewriting for writer in group.writers.values())

    def _rewrite(self, loop: Loop) -> None:
        group = loop.group

        def encode() -> None:
            if group.coverage.is_incomplete:
                for writer in group.writers.values():
                    writer.begin_rewriting()
                # On the loop's thread, because the loop sets it when it reads the changelogs again. A reset on another
                # thread could overwrite that.
                group.coverage.is_incomplete = False
            left = self._piece_blocks
            for place, writer in group.writers.items():
                if left > 0:
                    # Each block is kept as soon as it is encoded: if memory runs out at the next block, the directory
                    # of the rewrite already names this block.
                    left -= writer.rewrite(self._unsent.setdefault(place, {}).__setitem__, left)

        loop.between_commits(encode)
        self._send()

    def _together(self, writers: Iterable[SnapshotWriter]) -> Iterator[list[SnapshotWriter]]:
        """Group tasks by their number of changed rows, because each call on the loop's thread waits for a cycle."""
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

    def _cut(self, loop: Loop, writers: list[SnapshotWriter]) -> None:
        def cut() -> None:
            for writer in writers:
                self._keep(writer.place, writer.cut())

        loop.between_commits(cut)
        self._send()

    def _snapshots(self, group: TaskGroup) -> dict[Place, TaskSnapshot]:
        """Return the snapshots of a group, after a commit that proves that this worker owns it."""
        if self._lacks_all(group):
            raise Unavailable("the group has read its changelogs again since this snapshot began")
        if not group.is_open:
            raise Unavailable("the group is not open, so this worker can't prove by a commit that it owns the group")
        for place, writer in group.writers.items():
            # Before the changelogs' ends are read, because all rows before these ends must be in blocks: no replay from
            # there would read them.
            self._keep(place, writer.cut())
        # This commits. If another worker has taken over, the commit fails, and no manifest is written.
        group.look_at_changelogs()
        group.mark()
        if not any(task.position.n for task in group.tasks):
            return {}
        offsets = group.coverage.offsets()
        return {
            place: writer.snapshot(offsets[place], group.coverage.known_at) for place, writer in group.writers.items()
        }

    def _keep(self, place: Place, blocks: dict[int, bytes]) -> None:
        if blocks:
            unsent = self._unsent.setdefault(place, {})
            assert not unsent.keys() & blocks.keys(), f"{place}: a block that was not sent yet would be replaced"
            unsent.update(blocks)

    def _send(self) -> None:
        """Send the encoded blocks to the store. Raises Unavailable: the next call sends the rest."""
        for place, blocks in list(self._unsent.items()):
            storage = self._storage.blocks(place)
            for number in list(blocks):
                if time.monotonic() > self._deadline:
                    raise Unavailable(
                        "writing the snapshot to the checkpoint takes too long: the next lease writes the rest"
                    )
                storage.put_block(number, blocks[number])
                # One by one: if the store fails in between, the next attempt sends only the remaining blocks.
                del blocks[number]
