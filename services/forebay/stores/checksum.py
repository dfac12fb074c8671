"""Checksums of blocks: a block that a disk, a copy or a mix-up changed is noticed, not read as rows."""

from __future__ import annotations

import struct
from zlib import crc32

_MARK = b"\0crc"
"""No block without a checksum begins with zero: in Avro that is an empty array, and there are no empty blocks."""

_SUM = struct.Struct(">I")
_HEAD = len(_MARK) + _SUM.size


class DamagedBlock(Exception):
    """A block of a snapshot is not as it was written."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"block {number:016x} is damaged: {what}")


def seal(number: int, data: bytes) -> bytes:
    """Return a block with its checksum, which holds for this number only."""
    return _MARK + _SUM.pack(crc32(data, _seed(number))) + data


def unseal(number: int, data: bytes) -> bytes:
    """Return what was sealed; a block of a release that kept no checksums as it is. Raises DamagedBlock."""
    # A block without a checksum begins with a count of rows, which is not zero (see `_MARK`).
    if data and data[0]:
        return data
    content = data[_HEAD:]
    if data[:_HEAD] != _MARK + _SUM.pack(crc32(content, _seed(number))):
        raise DamagedBlock(number, f"its {len(content)} bytes don't have its checksum")
    return content


def _seed(number: int) -> int:
    # The upper half of a number names the block's writer.
    return (number ^ number >> 32) & 0xFFFFFFFF
