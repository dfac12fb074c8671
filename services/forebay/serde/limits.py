"""Limits for schemas and records, so that a few bytes from outside do not cost a reader minutes."""

from __future__ import annotations

MAX_DEPTH = 50
"""Types within types."""

MAX_NESTING = 200
"""Values within values, of a schema whose types contain themselves."""

MAX_TYPES = 10_000
"""Types in a schema, a named one counted wherever it is used: a 2 kB schema can expand to millions."""

MAX_SCHEMA_CHARACTERS = 1_000_000

MAX_PRECISION = 1_000
"""Digits of a decimal."""

FREE_VALUES = 10_000
VALUES_PER_BYTE = 8
"""A record of so many bytes may hold FREE_VALUES and so many values for each byte, nulls and records counted.

Values of no bytes are what bombs are made of.
"""


def most_values(size: int) -> int:
    """Return how many values a record of `size` bytes may hold."""
    return FREE_VALUES + VALUES_PER_BYTE * size


def unfolds(name: str, size: int) -> str:
    """Return what is wrong with bytes that hold more values than that."""
    return f"{name}: {size} bytes unfold into more than {most_values(size)} values; no record needs as many"
