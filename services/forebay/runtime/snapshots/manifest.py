"""The bytes of a manifest: a task's snapshot with a checksum."""

from __future__ import annotations

import struct
from zlib import crc32

from forebay.runtime.changelog.stateformat import TaskSnapshot, decode_state, encode_state
from forebay.runtime.errors import StateConflict

_MARK = b"forebay-snapshot-1\n"
_SUM = struct.Struct(">I")
_HEAD = len(_MARK) + _SUM.size


class DamagedManifest(Exception):
    """A manifest can't be used. The message contains the reason."""


def encode_manifest(snapshot: TaskSnapshot) -> bytes:
    """Return the bytes of a manifest."""
    content = encode_state(snapshot)
    return _MARK + _SUM.pack(crc32(content)) + content


def decode_manifest(data: bytes, checkpoint: str) -> TaskSnapshot:
    """Return the snapshot that a manifest describes.

    Args:
        checkpoint: id of the checkpoint that the snapshot must belong to.

    Raises:
        DamagedManifest: the manifest is torn or changed, or has another format or checkpoint.
    """
    content = data[_HEAD:]
    if not data.startswith(_MARK):
        raise DamagedManifest("it is incomplete, or another release wrote it")
    # An object store shows a file only when it is whole, but a local disk may lose the end of a file in a power
    # failure.
    if data[len(_MARK) : _HEAD] != _SUM.pack(crc32(content)):
        raise DamagedManifest(f"its checksum does not match its {len(content)} bytes")
    try:
        snapshot = decode_state(content)
    except StateConflict as error:
        raise DamagedManifest("another release wrote it") from error
    # A file that was copied from another checkpoint has a correct checksum, but its commits are not those of this job.
    if snapshot.position.checkpoint != checkpoint:
        raise DamagedManifest(f"it belongs to checkpoint {snapshot.position.checkpoint}, not to {checkpoint}")
    return snapshot
