"""Names of the files of a task's snapshots.

    <checkpoint>/snapshots/<checkpoint id>/<sub-topology>-<task>/<block number>.block
    <checkpoint>/snapshots/<checkpoint id>/<sub-topology>-<task>/<commits>-<written at>-<writer>.manifest

A block number begins with its writer, so two writers never write the same file. The manifest with the largest number
of commits is used. Among manifests with the same number of commits, it is the latest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forebay.runtime.task.snapshot import Place

FOLDER = "snapshots"
WRITER_BITS = 31
# A block's number is an Avro `long` in the manifest, which is signed: writer and counter have 63 bits together.
_NUMBER_BITS = 32
_BLOCK = re.compile(r"([0-9a-f]{16})\.block")
_MANIFEST = re.compile(r"(\d{20})-(\d{20})-([0-9a-f]{8})\.manifest")


@dataclass(frozen=True, slots=True, order=True)
class ManifestName:
    """A manifest's name. The larger of two names is newer.

    Args:
        commits: number of commits that the snapshot holds.
        written_at: wall clock in ms.
        writer: number of the writer.
    """

    commits: int
    written_at: int
    writer: int

    def __str__(self) -> str:
        return f"{self.commits:020}-{self.written_at:020}-{self.writer:08x}.manifest"


def task_folder(checkpoint: str, place: Place) -> str:
    """Return the folder of a task's snapshots, relative to the checkpoint's directory."""
    return f"{FOLDER}/{checkpoint}/{place[0]}-{place[1]}"


def block_name(number: int) -> str:
    """Return the file name of a block."""
    assert 0 <= number < 1 << WRITER_BITS + _NUMBER_BITS, f"block number {number} does not fit into a manifest"
    return f"{number:016x}.block"


def first_block(writer: int) -> int:
    """Return the number of a writer's first block."""
    assert 0 <= writer < 1 << WRITER_BITS, f"writer {writer} would use the block numbers of another one"
    return writer << _NUMBER_BITS


def block_number(name: str) -> int | None:
    """Return the number of a block, or None if the file is not a block."""
    match = _BLOCK.fullmatch(name)
    return int(match[1], 16) if match else None


def manifest_name(name: str) -> ManifestName | None:
    """Return the parts of a manifest's name, or None if the file is not a manifest."""
    match = _MANIFEST.fullmatch(name)
    return ManifestName(int(match[1]), int(match[2]), int(match[3], 16)) if match else None
