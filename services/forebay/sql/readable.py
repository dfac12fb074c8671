"""Reading of an SQL table from the stores of its job, including the computation of its rows from stored rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay.sql.catalog import Source
from forebay.sql.computed import condition_of, row_of
from forebay.sql.folding import results_of
from forebay.sql.plan import Aggregated, Filtered, Projected, Scan, Step

MakeRow = Callable[[Any, Any, int], Any]
"""Function of a key, a stored row and its timestamp (ms). It returns the row, or None if it is not in the table."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A table that pull queries can read.

    Args:
        store: Name of the store.
        of_row: Converts a row text of the store to the columns of the key.
        row: Converts the columns of a key to its row text.
        history: Name of the store with former rows, or "" if former rows are not stored.
    """

    source: Source
    store: str
    of_row: Callable[[str], Any]
    row: Callable[[Any], str]
    make_row: MakeRow
    history: str = ""


def base_of(step: Step) -> Step | None:
    """Return the step from whose store the rows of a step can be computed, or None if they need their own store."""
    while isinstance(step, Projected | Filtered):
        step = step.parent
    return step if isinstance(step, Aggregated | Scan) else None


def row_maker(step: Step, windowed: bool, columns: Callable[[Source], Source]) -> MakeRow:
    """Return a function that computes the rows of a step from the stored rows of its base step.

    Args:
        step: The step.
        windowed: Whether keys are windowed.
        columns: Returns a source with all columns that its store contains.
    """
    from forebay.sql.sources import row_maker as scanned  # noqa: PLC0415

    match step:
        case Aggregated():
            results = results_of(step.aggregates)
            return lambda key, kept, _time: results(kept)
        case Scan(source, _, slots):
            make = scanned(columns(source), slots, windowed=windowed)
            return lambda key, value, time: make(key, value, time, None)
        case Filtered(parent, condition):
            inner, keeps = row_maker(parent, windowed, columns), condition_of(condition, windowed=windowed)

            def keep(key: Any, value: Any, time: int) -> Any:
                row = inner(key, value, time)
                return row if row is not None and keeps(key, row) else None

            return keep
        case Projected(parent, expressions, _):
            before, project = row_maker(parent, windowed, columns), row_of(expressions, windowed=windowed)

            def project_row(key: Any, value: Any, time: int) -> Any:
                row = before(key, value, time)
                return None if row is None else project(key, row)

            return project_row
    raise TypeError(f"{type(step).__name__} has no rows of its own")
