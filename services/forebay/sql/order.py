"""The order of values as Java's `compareTo` has it: NaN is larger than every other DOUBLE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def rank(value: Any) -> Any:
    """Return a key by which `min`, `max` and `sorted` order values of one type."""
    return (value != value, value) if isinstance(value, float) else value  # noqa: PLR0124 (only NaN is not itself)


def smallest_to_largest(values: Iterable[Any]) -> list[Any]:
    """Return values of one type in order."""
    return sorted(values, key=rank)
