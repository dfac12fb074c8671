"""Several aggregates of a query as one fold of the DSL: what is kept is a tuple, one part for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.formats import Format
from forebay.operators.folds import Fold
from forebay.sql.aggregates.registry import Aggregate
from forebay.sql.values import Row, format_of_hints


def state_format(aggregates: Sequence[Aggregate], names: Sequence[str]) -> Format[Any]:
    """Return the format of what is kept."""
    shown = ", ".join(f"{name} {aggregate.type}" for name, aggregate in zip(names, aggregates, strict=True))
    return format_of_hints(f"totals of {shown or 'nothing'}", [aggregate.hint for aggregate in aggregates])


def fold_of(aggregates: Sequence[Aggregate], start: int) -> Fold[Row, Row]:
    """Return the fold of rows whose arguments begin at a column, one aggregate's after the other's."""
    initial = tuple(aggregate.initial for aggregate in aggregates)
    added = _stepping([aggregate.add for aggregate in aggregates], aggregates, start)
    taken = [aggregate.subtract for aggregate in aggregates]
    subtract = (
        None
        if any(each is None for each in taken)
        else _stepping([each for each in taken if each is not None], aggregates, start)
    )

    def merge(_key: Any, one: Row, other: Row) -> Row:
        return tuple(
            aggregate.merge(mine, theirs) for aggregate, mine, theirs in zip(aggregates, one, other, strict=True)
        )

    return Fold(lambda: initial, added, subtract, merge)


def _stepping(
    steps: Sequence[Callable[..., Any]], aggregates: Sequence[Aggregate], start: int
) -> Callable[[Any, Row, Row], Row]:
    places: list[tuple[Callable[..., Any], slice]] = []
    for step, aggregate in zip(steps, aggregates, strict=True):
        places.append((step, slice(start, start + aggregate.columns)))
        start += aggregate.columns

    def made(_key: Any, row: Row, kept: Row) -> Row:
        return tuple(step(part, *row[at]) for (step, at), part in zip(places, kept, strict=True))

    return made


def results_of(aggregates: Sequence[Aggregate]) -> Callable[[Row], Row]:
    """Return what gives the results of what is kept."""
    results = [aggregate.result for aggregate in aggregates]
    return lambda kept: tuple(result(part) for result, part in zip(results, kept, strict=True))
