"""How a table of SQL is read from the stores of its job: which store has its rows, and what makes them of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay.sql.catalog import Source
from forebay.sql.computed import condition_of, row_of
from forebay.sql.folding import results_of
from forebay.sql.plan import Aggregated, Filtered, Projected, Scan, Step

MakeRow = Callable[[Any, Any, int], Any]
"""Makes a row of its key, of what the store holds, and of its timestamp in ms; None: the row is not in the table."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A table that can be queried.

    Args:
        store: name of the store.
        of_row: gives the key's columns of a row text of the store.
        row: gives the key's row text.
        history: name of the store that keeps former rows; "" none does.
    """

    source: Source
    store: str
    of_row: Callable[[str], Any]
    row: Callable[[Any], str]
    make_row: MakeRow
    history: str = ""


def base_of(step: Step) -> Step | None:
    """Return the step whose store the rows of a step are computed from; None: they have none, and are kept."""
    while isinstance(step, Projected | Filtered):
        step = step.parent
    return step if isinstance(step, Aggregated | Scan) else None


def row_maker(step: Step, windowed: bool, columns: Callable[[Source], Source]) -> MakeRow:
    """Return what makes the rows of a step of what its base's store holds.

    Args:
        columns: gives a source with the columns that its store has.
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
