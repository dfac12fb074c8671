"""Reads the controller's metadata log on disk for the recovery: its end, and the end of its latest snapshot."""

from __future__ import annotations

import struct
from pathlib import Path

_FOLDER = "__cluster_metadata-0"
_HEADER = struct.Struct(">qi")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_DELTA_AT = 23


def metadata_log(data: Path) -> Path:
    """Return the log's folder in a broker's data directory."""
    return data / _FOLDER


def end_offset(data: Path) -> int:
    """Return the offset after the last complete record batch; 0 for an empty log."""
    end = 0
    for segment in sorted(metadata_log(data).glob("*.log")):
        end = max(end, int(segment.stem))
        batches, at = segment.read_bytes(), 0
        while at + _HEADER.size <= len(batches):
            base, length = _HEADER.unpack_from(batches, at)
            following = at + _HEADER.size + length
            if length <= 0 or following > len(batches):
                break
            end = base + _LAST_OFFSET_DELTA.unpack_from(batches, at + _DELTA_AT)[0] + 1
            at = following
    return end


def snapshot_offset(data: Path) -> int:
    """Return the offset up to which the latest snapshot is complete; 0 without one."""
    names = (file.name for file in metadata_log(data).glob("*.checkpoint"))
    return max((int(name.partition("-")[0]) for name in names), default=0)
