"""The logical plan of a statement: data, which prints itself, each step under those it reads."""

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
        source: alias of what it is from; "" of what was computed.
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
        bound: with the types and casts of its parts.
        text: in SQL, without them.
    """

    bound: Bound
    text: str

    @property
    def type(self) -> SqlType:
        """The type of its values."""
        return self.bound.type


@dataclass(frozen=True, slots=True)
class Scan:
    """A source's rows under their key: the columns that the statement needs."""

    source: Source
    alias: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """Rows under another key.

    Args:
        into: names and types of the key's columns.
        format: of the key's bytes.
        stays: whether the key has the same values as before, so that rows stay where they are.
        alone: keys of a record whose value is null, computed of its former key; (): it is given none.
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
    """Rows under the same keys, written without the id of a schema, where such keys belong.

    Equal keys that name different schemas are different bytes: their topics have them in different partitions.
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
    """Rows made of arrays: one for each item.

    Args:
        slots: the columns of the items, which are added.
    """

    parent: Step
    arrays: tuple[TypedExpression, ...]
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The joined rows of both sides.

    Args:
        kind: INNER, LEFT, FULL.
        within: of two streams: ms before and after.
        foreign_key: of two tables: the other's key, computed of the left row.
        lengths: how many columns each side has.
        by: expressions of both sides that are equal, as the join's stores record them.
        window_ms: size that the windows of the right keys are given, so that they meet by their start; 0: as they are.
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
        arguments: of each aggregate, computed of each row.
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


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query and what it writes.

    Args:
        name: of the query.
        target: the stream or table written.
        is_table: whether rows replace those before.
        is_insert: whether it is an INSERT INTO: its target is another statement's.
        place: of its statement.
    """

    name: str
    step: Step
    target: Source
    is_table: bool
    text: str = ""
    is_insert: bool = False
    place: Place = field(default=NOWHERE, compare=False)

    def lines(self, *, typed: bool = False) -> Iterator[str]:
        """Return the plan as lines of text.

        Args:
            typed: whether each expression follows its step, with the types and casts that it was bound with.
        """
        kind = "table" if self.is_table else "stream"
        columns = ", ".join(f"{item} KEY" for item in self.target.keys)
        rest = ", ".join(map(str, self.target.values))
        yield f"{self.name}: {kind} {self.target.name} -> topic {self.target.topic}"
        yield f"  columns {', '.join(item for item in (columns, rest) if item)}"
        yield from step_lines(self.step, 1, typed=typed)


def step_lines(step: Step, depth: int = 0, *, typed: bool = False) -> Iterator[str]:
    """Return a step and those it reads as lines of text, the last one first."""
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
