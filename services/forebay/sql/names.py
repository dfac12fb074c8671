"""Resolution of a query's column names, and expansion of its stars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from forebay.sql.aliases import Aliases, Item
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundColumn
from forebay.sql.catalog import BOUNDS, ROWTIME, Source
from forebay.sql.errors import SqlError
from forebay.sql.functions.loaded import REGISTRY
from forebay.sql.instants import timestamp_of
from forebay.sql.syntax import Call, Column, Expression, Field, Literal, Query, Selected, Star
from forebay.sql.types import NULL, SqlType, StructType
from forebay.sql.walk import rebuilt, with_columns

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN")
_INSTANTS = (ROWTIME, *BOUNDS)


class Sources:
    """The sources of a query by alias. Raises SqlError if two sources have the same alias.

    Args:
        query: The query.
        sources: Aliases and sources.
        is_asked: Whether it is a standalone query, in which a star includes the bounds of windows.
    """

    def __init__(self, query: Query, found: Sequence[tuple[str, Source]], *, is_asked: bool = False) -> None:
        self.by_alias = dict(found)
        self._is_asked = is_asked
        self._query = query
        if len(self.by_alias) < len(found):
            raise SqlError(
                query.source.place,
                "two sources have the same name: give each an alias: FROM a AS x JOIN a AS y",
            )

    @property
    def is_joined(self) -> bool:
        """Whether the query has several sources."""
        return len(self.by_alias) > 1

    def qualify(self, expression: Expression, free: frozenset[str] = frozenset()) -> Expression:
        """Return the expression with a source for each column. Raises SqlError.

        Args:
            expression: The expression.
            free: Names that do not belong to a source.
        """
        return _with_times(with_columns(expression, lambda column: self._column(column, free)))

    def _column(self, column: Column, free: frozenset[str]) -> Expression:
        if column.source:
            source = self.by_alias.get(column.source)
            if source is None:
                names = ", ".join(self.by_alias)
                raise SqlError(column.place, f"there is no source {column.source} in this query: write {names}")
            if source.type_of(column.name) is None and column.name in free and not self.is_joined:
                return Column(column.name, place=column.place)
            if source.type_of(column.name) is None:
                raise self._unknown(column, source)
            return column
        results = [alias for alias, source in self.by_alias.items() if source.type_of(column.name) is not None]
        if column.name in free and (len(results) != 1 or self.is_joined):
            return column
        if not results:
            raise self._unknown(column, *self.by_alias.values())
        if len(results) > 1:
            named = " or ".join(f"{alias}.{column.name}" for alias in results)
            raise SqlError(column.place, f"the column {column.name} is in several sources: write {named}")
        return Column(column.name, results[0], place=column.place)

    def _unknown(self, column: Column, *sources: Source) -> SqlError:
        names = ", ".join(named.name for source in sources for named in source.columns)
        return SqlError(column.place, f"there is no column {column.name}: write one of {names or 'its sources'}")

    def items(self, select: Sequence[Selected], free: frozenset[str], extra: Sequence[Item]) -> list[Item]:
        """Return the columns to which a SELECT list expands. Names are generated for unnamed columns.

        Args:
            select: The SELECT list.
            free: Names that do not belong to a source.
            extra: Columns that a star includes in addition to the columns of its sources.
        """
        items: list[Item] = []
        for selected in select:
            if isinstance(selected.expression, Star):
                items += self._star(selected.expression, extra)
            else:
                expression = self.qualify(selected.expression, free)
                items.append(Item(selected.alias or self._own_name(expression), expression))
        own = Aliases(column.name for source in self.by_alias.values() for column in source.columns)
        return [own.name_column(item) for item in items]

    def _star(self, star: Star, extra: Sequence[Item]) -> Iterator[Item]:
        if star.struct is not None:
            struct = self.qualify(star.struct)
            kind = self.type_of(struct)
            if not isinstance(kind, StructType):
                raise SqlError(star.place, f"->* selects the fields of a STRUCT, this is {kind}")
            yield from (Item(f"->{name}", Field(struct, name, place=star.place)) for name, _ in kind.fields)
            return
        if star.source and star.source not in self.by_alias:
            raise SqlError(star.place, f"there is no source {star.source}: write {', '.join(self.by_alias)}")
        if not star.source:
            yield from extra
        for alias, source in self.by_alias.items():
            if star.source in ("", alias):
                # After PARTITION BY the former key is a value, and comes after the other values.
                moved = bool(self._query.partition_by)
                named = (*source.values, *source.keys) if moved else source.columns
                plains = [*(member.name for member in named), *(header.column for header in source.headers)]
                if (self._is_asked or self.is_joined) and source.windowing is not None:
                    plains[len(source.keys) : len(source.keys)] = [item for item in BOUNDS if item not in plains]
                for plain in plains:
                    name = f"{alias}_{plain}" if self.is_joined else plain
                    yield Item(name, Column(plain, alias, place=star.place), of_star=True)

    def type_of(self, expression: Expression) -> SqlType:
        """Return the type of an expression over the sources. Raises SqlError."""
        return Binder(_Types(self.by_alias), REGISTRY).of(expression).type

    def _own_name(self, expression: Expression) -> str:
        if isinstance(expression, Column):
            having = [a for a, source in self.by_alias.items() if source.type_of(expression.name) is not None]
            is_shared = len(having) > 1 and expression.source != ""
            return f"{expression.source}_{expression.name}" if is_shared else expression.name
        return f"->{expression.name}" if isinstance(expression, Field) else ""


def _with_times(expression: Expression) -> Expression:
    """Return the expression with texts replaced by timestamps if they are compared with ROWTIME or a window bound."""
    changed = rebuilt(expression, _with_times)
    if not isinstance(changed, Call) or changed.name not in _COMPARISONS:
        return changed
    if not any(isinstance(argument, Column) and argument.name in _INSTANTS for argument in changed.arguments):
        return changed
    return replace(changed, arguments=tuple(map(_instant, changed.arguments)))


def _instant(expression: Expression) -> Expression:
    if not isinstance(expression, Literal) or not isinstance(expression.value, str):
        return expression
    try:
        return replace(expression, value=timestamp_of(expression.value))
    except ValueError as error:
        raise SqlError(expression.place, f"{expression.value!r} is not a time: write 2020-01-31T10:00:00") from error


class _Types:
    """Columns of sources, of which only the types are used."""

    def __init__(self, by_alias: dict[str, Source]) -> None:
        self._by_alias = by_alias

    def resolve(self, column: Column) -> Bound:
        source = self._by_alias.get(column.source)
        return BoundColumn("r[0]", (None if source is None else source.type_of(column.name)) or NULL)
