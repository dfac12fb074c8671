"""The results of a query's steps, with their columns and keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from forebay.sql.binding import Binder
from forebay.sql.bound import NOTHING, Bound, BoundColumn
from forebay.sql.catalog import Named, Windowing
from forebay.sql.errors import SqlError
from forebay.sql.functions import loaded
from forebay.sql.plan import Slot, Step, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.syntax import Column, Expression
from forebay.sql.walk import columns, parts, rebuilt

FUNCTIONS = loaded.REGISTRY


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key.

    Args:
        named: Name and type.
        equals: Expressions that have its value. The first one in this order that is selected becomes the key of the
            result.
        is_made: Whether the column is synthetic, because no column of the sources has its value.
    """

    named: Named
    equals: tuple[Expression, ...] = ()
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """The rows between two steps.

    Args:
        step: The step that returns the rows.
        slots: Columns of a row.
        keys: Columns of the key.
        format: Name of the key format.
        is_table: Whether the rows are those of a table.
        windowing: Windows of the keys, if they are windowed.
        is_framed: Whether keys contain schema ids, so that equal keys can be in different partitions.
        exploded: Columns with the results of table functions, by their call.
        standard: Whether nulls follow standard SQL.
        sources: Aliases of the sources that are read, in the order of the statement.
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
    sources: tuple[str, ...] = ()

    def binder(self) -> Binder:
        """Return a binder for expressions over the rows."""
        return Binder(RowNames(self.slots), FUNCTIONS, self.replaced, standard=self.standard)

    def bind(self, expression: Expression) -> TypedExpression:
        """Bind an expression over a row. Raises SqlError."""
        return TypedExpression(self.binder().of(expression), to_sql(expression), self._recorded_rule(expression))

    def bind_to_key(self, expression: Expression) -> TypedExpression:
        """Bind an expression over the key alone. If it needs other columns, the result is null. Raises SqlError."""
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
        return TypedExpression(self.binder().condition(expression), to_sql(expression), self._recorded_rule(expression))

    def _recorded_rule(self, expression: Expression) -> str:
        return f"{self.recorded_text(expression)}{' in a view' if self.standard else ''}"

    def recorded_text(self, expression: Expression) -> str:
        """Return the text of an expression that stores record. Renaming an alias does not change it."""

        def without_alias(part: Expression) -> Expression:
            if not isinstance(part, Column):
                return rebuilt(part, without_alias)
            # Several sources can have a column with this name. Distinguish them by their order in the statement.
            place = self.sources.index(part.source) if part.source in self.sources else 0
            return replace(part, source=str(place) if place else "")

        return to_sql(without_alias(expression))


class RowNames:
    """The columns of a row, which expressions can refer to."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self._slots = {(slot.source, slot.name): (at, slot.type) for at, slot in enumerate(slots)}

    def resolve(self, column: Column) -> Bound:
        """Return the bound column of a row. Raises SqlError."""
        slot = self._slots.get((column.source, column.name))
        if slot is None:
            raise SqlError(column.place, f"the column {column.name} can't be used here: its rows do not have it")
        return BoundColumn(f"r[{slot[0]}]", slot[1], column.name)
