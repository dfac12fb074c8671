"""Aggregation functions shared by the operators' tests. An aggregate is the concatenation of the added texts."""

from __future__ import annotations

from forebay.testing.cell import Cell


def empty() -> Cell:
    """Return the initial, empty aggregate."""
    return Cell("")


def append(_: str, value: Cell, total: Cell) -> Cell:
    """Return the aggregate with a value added."""
    return Cell(total.json + value.json)


def join_texts(_: str, one: Cell, two: Cell) -> Cell:
    """Return the merged aggregate of two."""
    return Cell(one.json + two.json)


def pair(left: Cell | None, right: Cell | None) -> Cell:
    """Return the joined value, with "-" for a missing side."""
    return Cell(f"{left.json if left else '-'}{right.json if right else '-'}")
