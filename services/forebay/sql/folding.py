"""Combination of a query's aggregates to one fold of the DSL, whose state is a tuple of the aggregates' states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.formats import Format
from forebay.operators.folds import Fold
from forebay.sql.aggregates.registry import Aggregate, same
from forebay.sql.compiled import GENERATED
from forebay.sql.values import Row, format_of_hints


def state_format(aggregates: Sequence[Aggregate], names: Sequence[str], keys: Sequence[str]) -> Format[Any]:
    """Return the format of the combined state.

    Args:
        aggregates: The aggregates.
        names: Texts of the aggregates, as written.
        keys: Columns of the groups, with their types.
    """
    shown = [f"{name} {aggregate.type}" for name, aggregate in zip(names, aggregates, strict=True)]
    layout = (*(f"group {key}" for key in keys), *shown)
    return format_of_hints(
        f"totals of {', '.join(shown) or 'nothing'}", [aggregate.hint for aggregate in aggregates], layout
    )


def fold_of(aggregates: Sequence[Aggregate], start: int) -> Fold[Row, Row]:
    """Return the combined fold of rows in which the arguments of all aggregates follow from column `start` on."""
    initial = tuple(aggregate.initial for aggregate in aggregates)
    added = _stepping([aggregate.add for aggregate in aggregates], aggregates, start)
    taken = [aggregate.subtract for aggregate in aggregates]
    subtract = (
        None
        if any(item is None for item in taken)
        else _stepping([item for item in taken if item is not None], aggregates, start)
    )

    def merge(_key: Any, one: Row, other: Row) -> Row:
        return tuple(
            aggregate.merge(mine, theirs) for aggregate, mine, theirs in zip(aggregates, one, other, strict=True)
        )

    return Fold(lambda: initial, added, subtract, merge)


def _stepping(
    steps: Sequence[Callable[..., Any]], aggregates: Sequence[Aggregate], start: int
) -> Callable[[Any, Row, Row], Row]:
    parts = []
    for number, aggregate in enumerate(aggregates):
        stop = start + aggregate.columns
        given = "".join(f", row[{at}]" for at in range(start, stop))
        parts.append(f"f{number}(kept[{number}]{given})")
        start = stop
    return _tuple_of("_key, row, kept", parts, steps)


def results_of(aggregates: Sequence[Aggregate]) -> Callable[[Row], Row]:
    """Return a function from the combined state to the results."""
    parts = [
        f"kept[{number}]" if aggregate.result is same else f"f{number}(kept[{number}])"
        for number, aggregate in enumerate(aggregates)
    ]
    return _tuple_of("kept", parts, [aggregate.result for aggregate in aggregates])


def _tuple_of(parameters: str, parts: Sequence[str], functions: Sequence[Callable[..., Any]]) -> Callable[..., Row]:
    """Return a compiled function that returns a tuple of parts, in which the functions are named f0, f1 and so on."""
    names: dict[str, Any] = {f"f{number}": function for number, function in enumerate(functions)}
    names["__name__"] = GENERATED
    # Generate code that calls each aggregate directly, because a loop over the aggregates would take longer than most
    # of them.
    result: Callable[..., Row] = eval(f"lambda {parameters}: ({''.join(f'{part}, ' for part in parts)})", names)
    return result
