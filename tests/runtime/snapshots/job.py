"""A job of one task whose broker and snapshots are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from forebay.runtime.changelog.stateformat import decode_block
from forebay.runtime.errors import StoreUnavailable, Unavailable
from forebay.runtime.snapshots.storage import SnapshotFiles
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from forebay.stores.blocklog import blocks_of, catch_up
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.worker import Loop, build
from tests.runtime.simulator.world import World

PLACE = (0, 0)


@dataclass
class Job:
    """A job of one task.

    Args:
        fails: Fault point at which the broker or the snapshot store does not answer.
        pauses: Fault point at which a worker is paused once, until `meanwhile` has returned.
        piece_blocks: See `SnapshotKeeper`.
    """

    world: World = field(default_factory=lambda: World(Setup("sum", 1, 1, records=200), 0))
    store: Store = field(default_factory=Store)
    fails: str = ""
    pauses: str = ""
    meanwhile: Callable[[], object] = lambda: None
    piece_blocks: int = 10

    def at(self, point: str) -> None:
        if point == self.fails:
            raise StoreUnavailable(point) if point.startswith("state.") else Unavailable(point)
        if point == self.pauses:
            self.pauses = ""
            self.meanwhile()

    def load(self) -> Loop:
        """Return a new worker's loop that has loaded the snapshots and does not own the group yet."""
        lease = self.world.driving.lease(0)
        storage = self.store.storage(lease.checkpoint, self.at)
        keeper = SnapshotKeeper(storage, piece_blocks=self.piece_blocks)
        return Loop(build(self.world, lease, storage, self.at), 1e9, self.world.monotonic, keeper)

    def start(self) -> Loop:
        """Return a new worker's loop that owns the group."""
        loop = self.load()
        loop.start(self.world.driving.lease(0))
        return loop

    def work(self, loop: Loop, commits: int = 1) -> None:
        for _ in range(commits):
            assert loop.group.cycle(self.world.driving.lease(0), 0.02)

    def lease(self, loop: Loop, commits: int = 1) -> None:
        """Run the loop for one lease: its commits, then its snapshot."""
        loop.keeper.put_waiting(loop)
        self.work(loop, commits)
        loop.keeper.write(loop)

    @property
    def storage(self) -> SnapshotFiles:
        """The snapshot store, opened as by a new worker."""
        return self.store.storage(self.world.driving.lease(0).checkpoint)

    def blocks(self) -> set[int]:
        """Return the numbers of the newest snapshot's blocks."""
        return blocks_of(next(self.storage.snapshots(PLACE)).directory)

    def stored_rows(self, place: tuple[int, int] = PLACE) -> dict[bytes, bytes]:
        """Return the rows of the newest snapshot, without those of later commits in the changelogs."""
        storage, table = self.storage, MemoryTable()
        snapshot = next(storage.snapshots(place))
        catch_up(table, snapshot.directory, storage.blocks(place), decode_block)
        return dict(table.scan(b""))


def rows(loop: Loop) -> dict[bytes, bytes]:
    return dict(loop.group.tasks[0].table.scan(b""))
