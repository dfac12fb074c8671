"""Texts that say how rows of a table are computed, which the stores of aggregates and foreign-key joins record.

If a row of a table changes, an aggregate subtracts the former row, and a foreign-key join cancels its subscription.
Only the rows of some steps are stored. All others are computed from these when they are needed. If an edit changed an
expression between the stored rows and the aggregate, the former row would differ from the row that was added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from forebay.sql.bound import BoundColumn
from forebay.sql.catalog import Source
from forebay.sql.plan import Filtered, Joined, Projected, Scan, Step, TypedExpression

StepOf = Callable[[Source], Step]
"""Returns the last step of the query that writes a source."""
_LONGEST, _SHOWN = 1_000, 200
"""Length of the longest text that is recorded, and number of letters that are kept of a longer one."""


def describe_rows(step: Step, used: Collection[TypedExpression], step_of: StepOf) -> str:
    """Return how a table's rows are computed from stored rows, or "" if they are stored.

    Args:
        step: The step that returns the rows.
        used: Expressions over the rows. Columns that they do not contain are left out.
        step_of: Returns the last step of the query that writes a source.
    """
    return _Description(step_of).of(step, _columns_of(used))


class _Description:
    def __init__(self, step_of: StepOf) -> None:
        self._step_of = step_of
        self._described: dict[tuple[Source, frozenset[int]], str] = {}
        """Texts by source and numbers of its columns. Without them, repeated self-joins would take exponential time."""

    def of(self, step: Step, used: frozenset[int]) -> str:
        words: list[str] = []
        while isinstance(step, Filtered | Projected):
            if isinstance(step, Filtered):
                words.append(f"where {_text(step.condition)}")
                used |= _columns_of([step.condition])
            else:
                columns = {step.into[at].name: step.columns[at] for at in sorted(used)}
                renamed = ", ".join(f"{_text(code)} as {name}" for name, code in columns.items() if _text(code) != name)
                if renamed:
                    words.append(f"with {renamed}")
                used = _columns_of(columns.values())
            step = step.parent
        # The rows of a foreign-key join and of a table with another key are stored.
        if isinstance(step, Joined) and step.foreign_key is None:
            words.append(self._of_join(step, used))
        elif isinstance(step, Scan) and step.source.is_derived:
            words.append(self._of_source(step, used))
        return _shorten(" ".join(word for word in reversed(words) if word))

    def _of_join(self, step: Joined, used: frozenset[int]) -> str:
        number, _ = step.lengths
        left = self.of(step.left, frozenset(at for at in used if at < number))
        right = self.of(step.right, frozenset(at - number for at in used if at >= number))
        sides = [f"({name} side {side})" for name, side in (("left", left), ("right", right)) if side]
        return " ".join((f"of the {step.kind.lower()} join by {step.by[0]} = {step.by[1]}", *sides))

    def _of_source(self, scan: Scan, used: frozenset[int]) -> str:
        names = {scan.slots[at].name for at in used}
        columns = frozenset(at for at, column in enumerate(scan.source.values) if column.name in names)
        place = scan.source, columns
        if place not in self._described:
            self._described[place] = self.of(self._step_of(scan.source), columns)
        return self._described[place]


def _text(expression: TypedExpression) -> str:
    return expression.recorded or expression.text


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_SHOWN]}... ({sha256(text.encode()).hexdigest()[:16]})"


def _columns_of(expressions: Collection[TypedExpression]) -> frozenset[int]:
    """Return the numbers of the columns of a row that expressions contain."""
    return frozenset(
        int(source[2:-1])
        for expression in expressions
        for part in _parts(expression.bound)
        if isinstance(part, BoundColumn) and (source := part.source).startswith("r[")
    )


def _parts(part: Any) -> Iterator[Any]:
    """Yield a bound expression and all of its parts at any depth."""
    waiting = [part]
    for item in waiting:
        if isinstance(item, tuple):
            waiting += item
        elif is_dataclass(item) and not isinstance(item, type):
            yield item
            waiting += [getattr(item, inside.name) for inside in fields(item)]
