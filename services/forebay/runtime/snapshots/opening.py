"""Opens the snapshots of a lease's group."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from forebay.runtime.changelog.stateformat import TaskSnapshot
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.snapshots.files import open_files
from forebay.runtime.snapshots.storage import SnapshotFiles
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.snapshot import GroupStorage, Place
from forebay.stores.blocklog import BlockStorage
from forebay.stores.directory import Directory

log = logging.getLogger(__name__)


class NoStorage:
    """A storage without snapshots (implements `GroupStorage` and `BlockStorage`). Starts read only the changelogs."""

    first_block = 0

    def snapshots(self, place: Place) -> Iterator[TaskSnapshot]:
        return iter(())

    def blocks(self, place: Place) -> BlockStorage:
        return self

    def holds(self, place: Place, directory: Directory) -> bool:
        return True

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        """Drop the snapshot."""

    def get_block(self, number: int) -> bytes:
        raise KeyError(number)

    def put_block(self, number: int, data: bytes) -> None:
        """Drop the block."""


def open_storage(spec: JobSpec, lease: Lease) -> GroupStorage:
    """Return the snapshots of a lease's group, for one loop. Raises StopJob if the checkpoint can't hold any."""
    if not spec.checkpoint:
        name = spec.transactional_id(lease.group)
        log.warning("%s: the driver is of release 0.2: no snapshots are written until it is replaced", name)
        return NoStorage()
    # A new writer for each loop, because a stuck loop and its replacement must not share block numbers.
    return SnapshotFiles(open_files(spec.checkpoint, spec.store_settings), lease.checkpoint)
