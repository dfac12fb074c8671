"""Checksums of blocks: a block that a disk, a copy or a mix-up changed is noticed, not read as rows."""

from __future__ import annotations

import struct
from zlib import crc32

_MARK = b"\0crc"
"""No block without a checksum begins with zero: in Avro that is an empty array, and there are no empty blocks."""

_SUM = struct.Struct(">I")
_HEAD = len(_MARK) + _SUM.size


class DamagedBlock(Exception):
    """A block of the state is not as it was written; the message says what to do."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(
            f"block {number} of the state is damaged: {what}. Look at the checkpoint's disk; then move the checkpoint "
            "away and take the state from the changelogs: `forebay restore`"
        )


def seal(number: int, data: bytes) -> bytes:
    """Return a block with its checksum, which holds for this number only."""
    return _MARK + _SUM.pack(crc32(data, number & 0xFFFFFFFF)) + data


def unseal(number: int, data: bytes) -> bytes:
    """Return what was sealed; a block of a release that kept no checksums as it is. Raises DamagedBlock."""
    if data and data[0]:
        return data
    content = data[_HEAD:]
    if data[:_HEAD] != _MARK + _SUM.pack(crc32(content, number & 0xFFFFFFFF)):
        raise DamagedBlock(number, f"its {len(content)} bytes don't have its checksum")
    return content
