"""What the steps of a query give: columns by name, and the key that rows are under."""

from __future__ import annotations

from dataclasses import dataclass, field

from forebay.sql.binding import Binder
from forebay.sql.bound import NOTHING, Bound, BoundColumn
from forebay.sql.catalog import Named, Windowing
from forebay.sql.errors import SqlError
from forebay.sql.functions import loaded
from forebay.sql.plan import Slot, Step, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.syntax import Column, Expression
from forebay.sql.walk import columns, parts

FUNCTIONS = loaded.REGISTRY


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key.

    Args:
        equals: expressions that have its value; the first one selected in this order is the key of a result.
        is_made: whether no column has its value, so that it is called ROWKEY or by a number.
    """

    named: Named
    equals: tuple[Expression, ...] = ()
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows on their way.

    Args:
        slots: columns of a row.
        format: name of the key's format.
        is_framed: whether keys name their schema, so that equal ones may lie in different partitions.
        exploded: sources of what table functions gave, by their call.
        standard: whether nulls are those of standard SQL.
    """

    step: Step
    slots: tuple[Slot, ...]
    keys: tuple[KeyColumn, ...]
    format: str
    is_table: bool
    windowing: Windowing | None = None
    replaced: dict[Expression, Bound] = field(default_factory=dict)
    is_framed: bool = False
    standard: bool = False

    def binder(self) -> Binder:
        """Return what binds expressions over the rows."""
        return Binder(RowNames(self.slots), FUNCTIONS, self.replaced, standard=self.standard)

    def bind(self, expression: Expression) -> TypedExpression:
        """Bind an expression over a row. Raises SqlError."""
        return TypedExpression(self.binder().of(expression), to_sql(expression))

    def bind_to_key(self, expression: Expression) -> TypedExpression:
        """Bind an expression over the key alone; the result is null if it needs more than that. Raises SqlError."""
        results = {
            equal: BoundColumn(f"(k and k[{at}])", key.named.type, key.named.name)  # a record may have no key
            for at, key in enumerate(self.keys)
            for equal in key.equals
        }
        if any(part in self.replaced for part in parts(expression)) or not results.keys() >= set(columns(expression)):
            return TypedExpression(NOTHING, to_sql(expression))
        make = Binder(RowNames(()), FUNCTIONS, results, standard=self.standard)
        return TypedExpression(make.of(expression), to_sql(expression))

    def bind_condition(self, expression: Expression) -> TypedExpression:
        """Bind a condition over a row. Raises SqlError."""
        return TypedExpression(self.binder().condition(expression), to_sql(expression))


class RowNames:
    """Columns of a row."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self._slots = {(slot.source, slot.name): (at, slot.type) for at, slot in enumerate(slots)}

    def resolve(self, column: Column) -> Bound:
        """Return where a column of a row is. Raises SqlError."""
        slot = self._slots.get((column.source, column.name))
        if slot is None:
            raise SqlError(column.place, f"the column {column.name} can't be used here: its rows do not have it")
        return BoundColumn(f"r[{slot[0]}]", slot[1], column.name)
