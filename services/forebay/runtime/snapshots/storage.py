"""A group's snapshots as files (see `layout`)."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator

from forebay.runtime.changelog.stateformat import TaskSnapshot
from forebay.runtime.errors import Unavailable
from forebay.runtime.snapshots.files import Files
from forebay.runtime.snapshots.layout import (
    WRITER_BITS,
    ManifestName,
    block_name,
    block_number,
    first_block,
    manifest_name,
    task_folder,
)
from forebay.runtime.snapshots.manifest import DamagedManifest, decode_manifest, encode_manifest
from forebay.runtime.snapshots.retention import plan_cleanup
from forebay.runtime.task.snapshot import Place
from forebay.stores.blocklog import BlockStorage, blocks_of
from forebay.stores.directory import Directory

log = logging.getLogger(__name__)


class FileBlocks:
    """One task's blocks (implements `BlockStorage`)."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder

    def get_block(self, number: int) -> bytes:
        try:
            return self._files.read(f"{self._folder}/{block_name(number)}")
        except FileNotFoundError as error:
            raise KeyError(number) from error

    def put_block(self, number: int, data: bytes) -> None:
        self._files.write(f"{self._folder}/{block_name(number)}", data)


class SnapshotFiles:
    """One writer of a group's snapshots (implements `GroupStorage`). Each loop has its own writer.

    Args:
        checkpoint: id of the checkpoint.
        writer: number that no other writer has; None: a random number.
    """

    def __init__(self, files: Files, checkpoint: str, writer: int | None = None) -> None:
        self._files = files
        self._checkpoint = checkpoint
        # Drawn at random, because a paused worker and its successor can't agree on numbers. If both had the same one,
        # they would overwrite each other's blocks.
        self._writer = secrets.randbits(WRITER_BITS) if writer is None else writer
        self.first_block = first_block(self._writer)
        self._tasks: dict[Place, _TaskFiles] = {}

    def snapshots(self, place: Place) -> Iterator[TaskSnapshot]:
        """Return a task's snapshots, newest first, including those written since this object was created."""
        return self._task(place).snapshots()

    def blocks(self, place: Place) -> BlockStorage:
        return FileBlocks(self._files, self._task(place).folder)

    def holds(self, place: Place, directory: Directory) -> bool:
        """Return whether the blocks of a directory exist, and no other writer has written since.

        Call this before each `write`, because the files that are listed here may be deleted two rounds later.
        """
        return self._task(place).holds(directory)

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        """Write a manifest, and delete what an earlier round planned. Only for the owner of the group.

        The caller's last commit, after all blocks of the snapshot were cut, has proved that it owns the group.
        """
        self._task(place).write(snapshot)

    def _task(self, place: Place) -> _TaskFiles:
        if place not in self._tasks:
            self._tasks[place] = _TaskFiles(self._files, self._checkpoint, place, self._writer)
        return self._tasks[place]


class _TaskFiles:
    def __init__(self, files: Files, checkpoint: str, place: Place, writer: int) -> None:
        self._files = files
        self._checkpoint = checkpoint
        self._writer = writer
        self.folder = task_folder(checkpoint, place)
        self._known: set[ManifestName] = set()
        self._newest: tuple[str, Directory] | None = None
        """The manifest that was last loaded or written."""
        self._listing: list[str] = []
        self._planned: frozenset[str] = frozenset()

    def snapshots(self) -> Iterator[TaskSnapshot]:
        tried: set[ManifestName] = set()
        while True:
            # Listed again before each attempt: while this worker reads, the previous owner may delete the snapshot that
            # was listed first, and write a newer one.
            self._known.update(self._manifests(self._files.list(self.folder)))
            left = sorted(self._known - tried)
            if not left:
                if tried:
                    log.warning("%s: no snapshot can be used: reading the changelogs from the beginning", self.folder)
                return
            name = left[-1]
            tried.add(name)
            try:
                snapshot = decode_manifest(self._files.read(f"{self.folder}/{name}"), self._checkpoint)
            except FileNotFoundError:
                continue
            except DamagedManifest as error:
                log.warning("%s/%s can't be used: %s", self.folder, name, error)
                continue
            # Until the caller asks for another snapshot, this one is in use, and its files must not be deleted.
            self._newest = str(name), snapshot.directory
            yield snapshot
            self._newest = None

    def holds(self, directory: Directory) -> bool:
        listing = self._listing = self._files.list(self.folder)
        # A manifest that this writer does not know is of another writer, which may have deleted this writer's blocks.
        other = self._manifests(listing) - self._known
        self._known |= other
        missing = blocks_of(directory).difference(number for number in map(block_number, listing) if number is not None)
        # A store may list new files late, so a block that is not in the listing is looked up by its name.
        return not other and all(self._files.exists(f"{self.folder}/{block_name(number)}") for number in missing)

    def write(self, snapshot: TaskSnapshot) -> None:
        name = ManifestName(snapshot.position.n, snapshot.written_at, self._writer)
        before = manifest_name(self._newest[0]) if self._newest else None
        assert before is None or name.commits >= before.commits, (
            f"{self.folder}: {name} has fewer commits than {before}"
        )
        # Before the write: if it fails after the store has accepted the file, the next `holds` must not mistake the
        # file for the manifest of another writer.
        self._known.add(name)
        self._files.write(f"{self.folder}/{name}", encode_manifest(snapshot))
        # The previous snapshot stays, because a successor may not see this one yet: a store may list new files late.
        last_two = [(str(name), snapshot.directory)] + ([self._newest] if self._newest else [])
        self._newest = last_two[0]
        needed = {manifest for manifest, _ in last_two}
        needed.update(block_name(number) for _, directory in last_two for number in blocks_of(directory))
        try:
            self._clean_up(needed)
        except Unavailable as error:
            log.warning("%s: the snapshot is written, but files that it replaces remain: %s", self.folder, error)

    def _clean_up(self, needed: set[str]) -> None:
        cleanup = plan_cleanup(self._listing, needed, self._planned)
        assert needed.isdisjoint(cleanup.delete), f"{self.folder}: a file that a snapshot needs would be deleted"
        # After the new manifest: if this process dies in between, files remain, and no manifest names a file that is
        # gone.
        for file in cleanup.delete:
            self._files.delete(f"{self.folder}/{file}")
        # Only now: if a delete failed, the old plan stays, and the next round deletes the same files.
        self._planned = cleanup.plan

    def _manifests(self, listing: list[str]) -> set[ManifestName]:
        return {name for name in map(manifest_name, listing) if name is not None}
