"""Checksums of blocks, which detect blocks that were damaged, swapped or wrongly copied."""

from __future__ import annotations

import struct
from zlib import crc32

_MARK = b"\0crc"
"""Prefix of a block with a checksum. No other block begins with a zero byte, which is an empty array in Avro."""

_SUM = struct.Struct(">I")
_HEAD = len(_MARK) + _SUM.size


class DamagedBlock(Exception):
    """A block of a snapshot differs from what was written."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"block {number:016x} is damaged: {what}")


def seal(number: int, data: bytes) -> bytes:
    """Return a block with its checksum, which is only valid for this number."""
    return _MARK + _SUM.pack(crc32(data, _seed(number))) + data


def unseal(number: int, data: bytes) -> bytes:
    """Return the content of a block. A block of a release without checksums is returned unchanged.

    Raises:
        DamagedBlock: The checksum is wrong.
    """
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
