"""The logical plan of a statement, a tree of steps that can be printed as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from forebay.sql.aggregates.registry import Aggregate
from forebay.sql.bound import Bound, BoundColumn, to_text
from forebay.sql.catalog import Named, Source, Windowing
from forebay.sql.errors import NOWHERE, Place
from forebay.sql.syntax import WindowClause
from forebay.sql.types import SqlType


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of the rows between two steps.

    Args:
        source: Alias of the source of the column, or "" if the column is computed.
    """

    source: str
    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.source}.{self.name}" if self.source else self.name


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """An expression over key, row and window.

    Args:
        bound: The bound expression, with types and casts.
        text: The expression in SQL, without inserted casts.
        recorded: The same text with aliases replaced by positions, which stores record. "" if it equals `text`.
    """

    bound: Bound
    text: str
    recorded: str = ""

    @property
    def type(self) -> SqlType:
        """Type of the expression's values."""
        return self.bound.type


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a source, reduced to the columns that the statement needs."""

    source: Source
    alias: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """Rows with another key.

    Args:
        parent: The step that is read.
        keys: Expressions of the new key.
        into: Names and types of the key's columns.
        format: Format of the key.
        stays: Whether the key has the same values as before, so that no repartition is needed.
        alone: Expressions of the new key for a record whose value is null. They are computed from its former key. If
            there are none, such a record has no key.
    """

    parent: Step
    keys: tuple[TypedExpression, ...]
    into: tuple[Named, ...]
    format: str
    stays: bool = False
    drops_null: bool = False
    alone: tuple[TypedExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Rows with the same keys, written without schema ids and repartitioned.

    Equal keys with different schema ids are different bytes, so a topic can have them in different partitions.
    """

    parent: Step
    into: tuple[Named, ...]
    format: str
    windowing: Windowing | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """Rows for which a condition is true."""

    parent: Step
    condition: TypedExpression


@dataclass(frozen=True, slots=True)
class Exploded:
    """Rows with one copy for each item of arrays.

    Args:
        arrays: The arrays.
        slots: Columns that are added for the items.
    """

    parent: Step
    arrays: tuple[TypedExpression, ...]
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The joined rows of two steps.

    Args:
        kind: INNER, LEFT, FULL.
        within: Durations (ms) before and after, in a join of two streams.
        grace_ms: Grace period (ms), or None if it is not specified.
        foreign_key: Expression of the left row that is the right table's key, in a foreign-key join of two tables.
        lengths: Number of columns of each side.
        by: Texts of the two expressions that are equal, which the join's stores record.
        window_ms: Size (ms) to which the windows of the right keys are set, so that windows with the same start are
            equal. 0 if windows are not changed.
    """

    left: Step
    right: Step
    kind: str
    within: tuple[int, int] | None
    grace_ms: int | None
    foreign_key: TypedExpression | None
    lengths: tuple[int, int]
    by: tuple[str, str]
    window_ms: int = 0


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Aggregates of rows by key, or by key and window.

    Args:
        arguments: Arguments of each aggregate, which are computed from each row.
    """

    parent: Step
    aggregates: tuple[Aggregate, ...]
    arguments: tuple[tuple[TypedExpression, ...], ...]
    names: tuple[str, ...]
    window: WindowClause | None
    final: bool


@dataclass(frozen=True, slots=True)
class Projected:
    """Rows with the columns of the result."""

    parent: Step
    columns: tuple[TypedExpression, ...]
    into: tuple[Named, ...]


Step = Scan | Rekeyed | Settled | Filtered | Exploded | Joined | Aggregated | Projected


RETURNS = "\0"
"""Stands before the number of a query that was created again. Names of streams and tables do not contain it."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A persistent query and its target.

    Args:
        name: Name of the query.
        step: The last step.
        target: The stream or table that the query writes.
        is_table: Whether the result is a table.
        text: Text of the statement.
        is_insert: Whether the statement is INSERT INTO, which does not create the target.
        place: Place of the statement.
        ended_before: Number of earlier queries with this target that were dropped or terminated; for INSERT INTO, of
            those that inserted into it.
    """

    name: str
    step: Step
    target: Source
    is_table: bool
    text: str = ""
    is_insert: bool = False
    place: Place = field(default=NOWHERE, compare=False)
    ended_before: int = 0

    @property
    def label(self) -> str:
        """The name from which those of the query's stores are made.

        It does not contain the query's number. If a statement is added to the file, the stores of the other statements
        must keep their names. A query that is created again begins with new stores. The name then ends with RETURNS and
        a number, so that it is not the name of another result.
        """
        return label_of(self.base_label, self.ended_before)

    @property
    def shown_label(self) -> str:
        """The label as a part of names that are not those of stores."""
        return self.label.replace(RETURNS, ".")

    @property
    def base_label(self) -> str:
        """The label of the first such query."""
        return f"insert {self.target.name}" if self.is_insert else self.target.name

    def lines(self, *, typed: bool = False) -> Iterator[str]:
        """Return the plan as lines of text.

        Args:
            typed: Whether each step is followed by its bound expressions, with types and casts.
        """
        kind = "table" if self.is_table else "stream"
        columns = ", ".join(f"{item} KEY" for item in self.target.keys)
        rest = ", ".join(map(str, self.target.values))
        yield f"{self.name}: {kind} {self.target.name} -> topic {self.target.topic}"
        yield f"  columns {', '.join(item for item in (columns, rest) if item)}"
        yield from step_lines(self.step, 1, typed=typed)


def label_of(base: str, ended_before: int) -> str:
    """Return the label of a query, of which `ended_before` earlier ones with the same base label have ended."""
    return f"{base}{RETURNS}{ended_before + 1}" if ended_before else base


def step_lines(step: Step, depth: int = 0, *, typed: bool = False) -> Iterator[str]:
    """Return a step as lines of text, followed by the steps that it reads, which are indented."""
    yield "  " * depth + _line(step)
    for code in _codes(step) if typed else ():
        if not isinstance(code.bound, BoundColumn):
            yield "  " * (depth + 2) + to_text(code.bound)
    for parent in (
        (step.left, step.right) if isinstance(step, Joined) else () if isinstance(step, Scan) else (step.parent,)
    ):
        yield from step_lines(parent, depth + 1, typed=typed)


def _codes(step: Step) -> Iterable[TypedExpression]:
    """Return the expressions of a step."""
    match step:
        case Rekeyed(_, codes) | Exploded(_, codes) | Projected(_, codes):
            return codes
        case Filtered(_, condition):
            return (condition,)
        case Joined(foreign_key=TypedExpression() as key):
            return (key,)
        case Aggregated(_, _, arguments):
            return chain.from_iterable(arguments)
    return ()


def _line(step: Step) -> str:
    match step:
        case Scan(source, alias, slots):
            kind = "table" if source.is_table else "stream"
            as_alias = f" as {alias}" if alias != source.name else ""
            return f"read {kind} {source.name}{as_alias}: {', '.join(slot.name for slot in slots) or 'no columns'}"
        case Rekeyed():
            keys = ", ".join(code.text for code in step.keys)
            return f"key {keys or 'none'} ({step.format}){'' if step.stays else ', repartition'}"
        case Settled():
            return f"key without its schema's id ({step.format}), repartition"
        case Filtered(_, condition):
            return f"keep where {condition.text}"
        case Exploded(_, arrays):
            return f"explode {', '.join(code.text for code in arrays)}"
        case Joined():
            how = f" within {step.within[0]} ms, {step.within[1]} ms" if step.within else ""
            by = f" by {step.foreign_key.text}" if step.foreign_key else ""
            return f"join {step.kind.lower()}{how}{by}"
        case Aggregated():
            window = f" by {step.window.kind.lower()} window of {step.window.size_ms} ms" if step.window else ""
            return f"aggregate {', '.join(step.names) or 'nothing'}{window}{', final' if step.final else ''}"
        case Projected(_, columns, into):
            return "select " + ", ".join(f"{code.text} as {to.name}" for code, to in zip(columns, into, strict=True))
