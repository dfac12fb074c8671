"""Aggregates on cells that the operators' tests share: the added texts, in order."""

from __future__ import annotations

from forebay.testing.cell import Cell


def empty() -> Cell:
    """Return the initial, empty aggregate."""
    return Cell("")


def append(_: str, value: Cell, total: Cell) -> Cell:
    """Add a value."""
    return Cell(total.json + value.json)


def join_texts(_: str, one: Cell, two: Cell) -> Cell:
    """Merge two aggregates."""
    return Cell(one.json + two.json)


def pair(left: Cell | None, right: Cell | None) -> Cell:
    """Join two values."""
    return Cell(f"{left.json if left else '-'}{right.json if right else '-'}")
