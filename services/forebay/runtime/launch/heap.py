"""The heap of a JVM that runs Spark: a driver's or an executor's."""

from __future__ import annotations

import re

_MEMORY = re.compile(r"(\d+)([kmgt])", re.IGNORECASE)
_LEAST_MB = 480
"""Spark requires 450 MB of the heap, without the part that the collector keeps free."""


def refused_heap(memory: str) -> str:
    """Return why Spark would not start with a heap of this size, such as 512m; "" if it would."""
    match = _MEMORY.fullmatch(memory)
    if match is None:
        return f"memory {memory!r} is refused: specify a number with k, m, g or t, such as 1g"
    if int(match[1]) << 10 * "kmgt".index(match[2].lower()) < _LEAST_MB << 10:
        return f"memory {memory!r} is refused: Spark needs a heap of {_LEAST_MB}m or more"
    return ""
