"""Analysis of standalone SELECT statements, which are pull and push queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from forebay.builder.keys import Windowed
from forebay.processor.messages import Origin
from forebay.sql.aggregation import is_aggregate
from forebay.sql.aliases import Item
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundLiteral
from forebay.sql.catalog import BOUNDS, ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWSTART, Catalog, Named, Source
from forebay.sql.encodings.readers import writer
from forebay.sql.errors import SqlError
from forebay.sql.exploding import TABLE_FUNCTIONS
from forebay.sql.generate import function_of
from forebay.sql.names import Sources
from forebay.sql.plan import Scan, Slot, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.relation import FUNCTIONS, Relation
from forebay.sql.sources import row_maker
from forebay.sql.syntax import Call, Column, Expression, Literal, Query
from forebay.sql.types import BIGINT, STRING, common
from forebay.sql.values import as_held
from forebay.sql.walk import parts

MOST_KEYS = 1_000
"""Largest number of keys that a query may name."""
LOWEST, HIGHEST = -(1 << 62), (1 << 62) - 1
_ARITHMETIC = frozenset(["+", "-", "*", "/", "%", "-x"])
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Reading:
    """An analyzed SELECT.

    Args:
        source: The table or stream that is read.
        columns: Columns of the result.
        keys: Keys that the conditions name, or None for all keys.
        starts: Earliest and latest start of windows (ms), both inclusive, or None for all windows.
        limit: Largest number of rows, or None.
        row: Function of a row's key (optionally windowed), value and timestamp and, in a push query, the origin of its
            record. It returns the result, or None if the row does not match the conditions.
        as_of: Time (ms since 1970) at which the returned rows were valid, or None for the current rows.
        is_range: Whether the conditions bound a key that is a single text.
    """

    source: Source
    columns: tuple[Named, ...]
    keys: tuple[tuple[Any, ...], ...] | None
    starts: tuple[int, int] | None
    limit: int | None
    row: Callable[[Any, Any, int, Origin | None], tuple[Any, ...] | None]
    as_of: int | None = None
    is_range: bool = False

    def json_row(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return a row of the result with values that JSON can represent, by column name."""
        return {named.name: writer(named.type)(value) for named, value in zip(self.columns, row, strict=True)}


def reading_of(query: Query, catalog: Catalog) -> Reading:
    """Return the analysis of a SELECT. Raises SqlError for clauses that only CREATE ... AS SELECT can compute."""
    for given, what in (
        (query.joins, "JOIN"),
        (query.group_by, "GROUP BY"),
        (query.partition_by, "PARTITION BY"),
        (query.window, "WINDOW"),
        (query.having, "HAVING"),
    ):
        if given:
            raise SqlError(
                query.place,
                f"a pull query can't compute {what}: write CREATE TABLE ... AS SELECT, and query that table",
            )
    source = catalog.get(query.source.name, query.source.place)
    alias = query.source.alias
    _check_functions(query)
    sources = Sources(query, [(alias, source)], is_asked=True)
    extras = _extras(source, alias) if query.emit else _headers(source, alias)
    relation = _relation(source, alias, extras)
    items = sources.items(query.select, frozenset(), [])
    _check_names(items)
    codes = [relation.bind(item.expression) for item in items]
    where = None if query.where is None else sources.qualify(query.where)
    columns = tuple(Named(item.name, code.type) for item, code in zip(items, codes, strict=True))
    conditions = list(_conjuncts(where)) if where is not None else []
    return Reading(
        source,
        columns,
        () if query.emit and _compares_null(conditions) else _keys(source, alias, conditions, pulls=not query.emit),
        _starts(source, alias, conditions),
        query.limit,
        _maker(codes, None if where is None else relation.bind_condition(where), source, extras),
        _as_of(query, source),
        _is_range(source, alias, conditions),
    )


def _check_names(items: Sequence[Item]) -> None:
    """Raise SqlError if two columns have the same name, because the response has the values by name."""
    names: set[str] = set()
    for item in items:
        if item.name in names:
            raise SqlError(item.expression.place, f"two columns are called {item.name}: give one another name with AS")
        names.add(item.name)


def _is_range(source: Source, alias: str, conditions: Sequence[Expression]) -> bool:
    """Return whether the key is a single text, and exactly one condition bounds it."""
    if len(source.keys) != 1 or source.keys[0].type != STRING or source.windowing is not None:
        return False
    column = Column(source.keys[0].name, alias)
    bounds = [
        condition
        for condition in conditions
        if isinstance(condition, Call) and condition.name in ("<", "<=", ">", ">=") and column in condition.arguments
    ]
    return len(bounds) == 1


def _as_of(query: Query, source: Source) -> int | None:
    if query.as_of is not None and not source.history_ms:
        raise SqlError(
            query.place,
            f"{source.name} keeps no former rows: write CREATE TABLE {source.name} WITH (HISTORY_RETENTION = '1 DAY') "
            "AS SELECT",
        )
    if query.as_of is not None and not LOWEST <= query.as_of <= HIGHEST:
        raise SqlError(query.place, f"FOR SYSTEM_TIME AS OF is beyond all times: write {LOWEST} to {HIGHEST} ms")
    if query.as_of is not None and query.emit:
        raise SqlError(query.place, "EMIT CHANGES begins now: leave FOR SYSTEM_TIME AS OF out")
    return query.as_of


def _headers(source: Source, alias: str) -> tuple[Slot, ...]:
    """Return the columns of headers that a pull query can read. A derived table has none."""
    names = [header.column for header in source.headers if not (source.is_table and source.is_derived)]
    return tuple(Slot(alias, name, kind) for name in names if (kind := source.type_of(name)) is not None)


def _extras(source: Source, alias: str) -> tuple[Slot, ...]:
    """Return the columns that come from the record and are not part of its row: headers, partition, offset."""
    names = [*(header.column for header in source.headers), ROWPARTITION, ROWOFFSET]
    return tuple(Slot(alias, name, kind) for name in names if (kind := source.type_of(name)) is not None)


def _relation(source: Source, alias: str, extras: tuple[Slot, ...]) -> Relation:
    slots = [Slot(alias, column.name, column.type) for column in source.columns]
    slots.append(Slot(alias, ROWTIME, BIGINT))
    if source.windowing is not None:
        slots += [Slot(alias, name, kind) for name, kind in BOUNDS.items()]
    slots += extras
    return Relation(Scan(source, alias, tuple(slots)), tuple(slots), (), "", source.is_table)


def _maker(
    columns: Sequence[TypedExpression],
    condition: TypedExpression | None,
    source: Source,
    extras: Sequence[Slot],
) -> Callable[[Any, Any, int, Origin | None], tuple[Any, ...] | None]:
    no_key, no_window = (None,) * len(source.keys), (None,) * (0 if source.windowing is None else len(BOUNDS))
    make_extras = row_maker(source, extras, windowed=False) if extras else lambda _k, _v, _t, _o: ()
    project = function_of("k, r, w", (column.bound for column in columns))
    keeps = None if condition is None else function_of("k, r, w", (condition.bound,), catches=False)

    def row(key: Any, value: Any, timestamp: int, origin: Origin | None = None) -> tuple[Any, ...] | None:
        window: tuple[int | None, ...] = no_window
        if isinstance(key, Windowed):
            key, window = key.key, tuple(key.window)
        more = make_extras(None, value, timestamp, origin)
        whole = (*(no_key if key is None else key), *value, timestamp, *window, *more)
        if keeps is not None and keeps(None, whole, None)[0] is not True:
            return None
        return project(None, whole, None)

    return row


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.name == "AND":
        for part in condition.arguments:
            yield from _conjuncts(part)
    else:
        yield condition


class _NoNames:
    def resolve(self, column: Column) -> Bound:
        raise SqlError(column.place, "a column can't be used here")


def _constant(value: Expression, like: Named, *, pulls: bool) -> Any:
    """Return a literal as a value of a key column, or None if no key can equal it. Raises SqlError."""
    make = Binder(_NoNames(), FUNCTIONS)
    literal = make.of(value)
    # A pull query does not convert texts to numbers, like ksqlDB's QueryFilterNode, although IN does so elsewhere.
    if pulls and STRING in (literal.type, like.type) and common(literal.type, like.type) is None:
        raise SqlError(
            value.place, f"{to_sql(value)} can't be converted to the type of the key column {like}: CAST it to the type"
        )
    (_, constant), _kind = make.alike([BoundLiteral(None, like.type), literal], value)
    result = function_of("", (constant,))()[0]
    return None if result is None else as_held(result, like.type)


def _compares_null(conditions: Sequence[Expression]) -> bool:
    return any(
        isinstance(condition, Call) and condition.name in ("=", "IN") and any(map(_is_null, condition.arguments))
        for condition in conditions
    )


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _check_functions(query: Query) -> None:
    """Raise SqlError for aggregate and table functions, which only CREATE ... AS SELECT can compute."""
    expressions = [item.expression for item in query.select]
    for expression in (*expressions, *(() if query.where is None else (query.where,))):
        for part in parts(expression):
            if isinstance(part, Call) and (is_aggregate(part) or part.name in TABLE_FUNCTIONS):
                written = "TABLE ... AS SELECT ... GROUP BY" if is_aggregate(part) else "STREAM ... AS SELECT"
                raise SqlError(
                    part.place, f"a pull query can't compute {part.name}: write CREATE {written}, and query that"
                )


def _keys(
    source: Source, alias: str, conditions: Sequence[Expression], *, pulls: bool
) -> tuple[tuple[Any, ...], ...] | None:
    """Return the keys that conditions name with `=` or IN for every key column, or None if they do not."""
    wanted: list[list[Any]] = []
    number = 1
    for named in source.keys:
        column, results = Column(named.name, alias), None
        for condition in conditions:
            literals = _equals(condition, column)
            if literals is not None:
                results = [held for literal in literals if (held := _constant(literal, named, pulls=pulls)) is not None]
                break
        if results is None:
            return None
        wanted.append(results)
        number *= len(results)
        if number > MOST_KEYS:
            raise SqlError(conditions[0].place, f"these are {number} keys: ask for {MOST_KEYS} at most in one query")
    keys: list[tuple[Any, ...]] = [()]
    for choices in wanted:
        keys = [(*key, choice) for key in keys for choice in dict.fromkeys(choices)]
    return tuple(keys) if source.keys else None


def _equals(condition: Expression, column: Column) -> Sequence[Expression] | None:
    """Return the literals that a condition compares a key column with. Raises SqlError for NULL."""
    match condition:
        case Call("=", (one, other)) if column in (one, other):
            values: Sequence[Expression] = [other if one == column else one]
        case Call("IN", (one, *several)) if one == column:
            values = several
        case _:
            return None
    null = next((item for item in values if _is_null(item)), None)
    if null is not None:
        raise SqlError(null.place, f"the key {column.name} is never NULL, and nothing equals NULL: name a key")
    return values if all(map(_is_constant, values)) else None


def _is_constant(expression: Expression) -> bool:
    """Return whether an expression is a literal, or arithmetic with literals."""
    if isinstance(expression, Call) and expression.name in _ARITHMETIC:
        return all(map(_is_constant, expression.arguments))
    return isinstance(expression, Literal)


def _starts(source: Source, alias: str, conditions: Sequence[Expression]) -> tuple[int, int] | None:
    if source.windowing is None:
        return None
    low, high = LOWEST, HIGHEST
    column = Column(WINDOWSTART, alias)
    for condition in conditions:
        if not isinstance(condition, Call) or condition.name not in _TURNED or len(condition.arguments) != 2:
            continue
        one, other = condition.arguments
        sign, value = (condition.name, other) if one == column else (_TURNED[condition.name], one)
        if column not in (one, other) or not isinstance(value, Literal) or not isinstance(value.value, int):
            continue
        if sign in ("=", ">=", ">"):
            # Bounds are inclusive whole milliseconds, so > n is the same as >= n + 1.
            low = max(low, value.value + (sign == ">"))
        if sign in ("=", "<=", "<"):
            high = min(high, value.value - (sign == "<"))
    # A literal can be outside of the range of times that a store supports.
    return min(max(low, LOWEST), HIGHEST), max(min(high, HIGHEST), LOWEST)
