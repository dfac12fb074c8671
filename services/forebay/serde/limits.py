"""Limits of schemas and records, so that a few malicious bytes do not occupy a reader for minutes."""

from __future__ import annotations

MAX_DEPTH = 50
"""Nesting of types."""

MAX_NESTING = 200
"""Nesting of values, for a schema whose types contain themselves."""

MAX_TYPES = 10_000
"""Types in a schema. A named type counts at each use, because a schema of 2 kB can expand to millions of types."""

MAX_SCHEMA_CHARACTERS = 1_000_000

MAX_PRECISION = 1_000
"""Digits of a decimal."""

FREE_VALUES = 10_000
VALUES_PER_BYTE = 8
"""A record may contain FREE_VALUES values and VALUES_PER_BYTE for each of its bytes, including nulls and records.

Without this limit, values of no bytes could make a small record expand without end.
"""


def most_values(size: int) -> int:
    """Return the number of values that a record of `size` bytes may contain."""
    return FREE_VALUES + VALUES_PER_BYTE * size


def unfolds(name: str, size: int) -> str:
    """Return the message for a record of `size` bytes with too many values."""
    return f"{name}: {size} bytes unfold into more than {most_values(size)} values; no record needs as many"
