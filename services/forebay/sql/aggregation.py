"""Analysis of a query's aggregates, their groups and the columns of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.aggregates.registry import Aggregate, Argument, limit_list
from forebay.sql.aggregates.standard import STANDARD
from forebay.sql.aliases import Item
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound, BoundColumn
from forebay.sql.catalog import BOUNDS, Named, Windowing
from forebay.sql.errors import SqlError
from forebay.sql.plan import Aggregated, Filtered, Projected, Step, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.relation import FUNCTIONS, Relation
from forebay.sql.syntax import Call, Column, Expression, Literal, Star, WindowClause
from forebay.sql.walk import parts

if TYPE_CHECKING:
    from forebay.sql.analyze import Analysis


def is_aggregate(expression: Expression) -> bool:
    """Return whether an expression is a call of an aggregate function."""
    return isinstance(expression, Call) and expression.name in AGGREGATES


class GroupNames:
    """Columns that can be used after GROUP BY without an aggregate, which are the bounds of the window."""

    def __init__(self, window: WindowClause | None) -> None:
        self._window = window

    def resolve(self, column: Column) -> Bound:
        """Return a bound of the window. Raises SqlError for a column that is neither grouped by nor aggregated."""
        if self._window is not None and column.name in BOUNDS and not column.source:
            return BoundColumn(f"w[{list(BOUNDS).index(column.name)}]", BOUNDS[column.name], column.name)
        raise SqlError(
            column.place,
            f"the column {column.name} has many values in a group: add it to GROUP BY, or aggregate it, such as "
            f"LATEST_BY_OFFSET({column.name})",
        )


def aggregate(
    analysis: Analysis, relation: Relation, items: Sequence[Item]
) -> tuple[Step, tuple[Named, ...], tuple[Named, ...], Relation]:
    """Return the last step of an aggregation, the key and value columns of its result, and its relation.

    Raises:
        SqlError: The aggregation is invalid.
    """
    query = analysis.query
    if not analysis.group_by:
        raise SqlError(query.place, "an aggregate needs GROUP BY: write what makes a group")
    window = query.window
    if window is not None and relation.is_table:
        raise SqlError(query.place, "rows of a table have no windows: leave WINDOW out, or aggregate a stream")
    _check_groups(analysis)
    grouped = analysis.rekey(relation, analysis.group_by, items, drops_null=True)
    calls = _calls(items, analysis.having)
    calls_made = [_aggregate(relation, call, _limit(analysis.settings, call)) for call in calls]
    for call, (aggregate, _) in zip(calls, calls_made, strict=True):
        if relation.is_table and aggregate.subtract is None:
            raise SqlError(
                call.place,
                f"{call.name} can't take a row out again, as a table's rows change: use COUNT, SUM, AVG or "
                "COLLECT_LIST, or aggregate a stream",
            )
    step: Step = Aggregated(
        grouped.step,
        tuple(aggregate for aggregate, _ in calls_made),
        tuple(codes for _, codes in calls_made),
        tuple(map(to_sql, calls)),
        window,
        query.emit == "FINAL",
    )
    replaced: dict[Expression, Bound] = {
        expression: BoundColumn(f"k[{at}]", key.named.type, to_sql(expression))
        for at, (expression, key) in enumerate(zip(analysis.group_by, grouped.keys, strict=True))
    }
    for at, (call, (aggregate, _)) in enumerate(zip(calls, calls_made, strict=True)):
        replaced[call] = BoundColumn(f"r[{at}]", aggregate.type, to_sql(call))

    def code(expression: Expression, *, condition: bool = False) -> TypedExpression:
        make = Binder(GroupNames(window), FUNCTIONS, replaced, standard=query.standard)
        result = make.condition(expression) if condition else make.of(expression)
        return TypedExpression(result, to_sql(expression), relation.recorded_text(expression))

    if analysis.having is not None:
        step = Filtered(step, code(analysis.having, condition=True))
    keys, values = analysis.split(items, grouped.keys)
    columns = [(name, code(expression)) for name, expression in values]
    into = tuple(Named(name, code.type) for name, code in columns)
    projected = Projected(step, tuple(code for _, code in columns), into)
    windowing = None if window is None else Windowing(window.kind, 0 if window.kind == "SESSION" else window.size_ms)
    last = Relation(projected, (), grouped.keys, grouped.format, True, windowing, {}, grouped.is_framed)
    return projected, keys, into, last


def _check_groups(analysis: Analysis) -> None:
    for expression in analysis.group_by:
        for part in parts(expression):
            if is_aggregate(part):
                raise SqlError(expression.place, "GROUP BY takes no aggregates: write columns or expressions of them")


def _calls(items: Sequence[Item], having: Expression | None) -> list[Call]:
    """Return the distinct calls of aggregate functions."""
    calls: dict[Call, None] = {}
    for expression in (*(item.expression for item in items), *(() if having is None else (having,))):
        for part in parts(expression):
            if isinstance(part, Call) and is_aggregate(part):
                for inner in part.arguments:
                    if any(is_aggregate(part) for part in parts(inner)):
                        raise SqlError(
                            inner.place, f"{part.name} contains an aggregate: compute the inner one in a table before"
                        )
                calls.setdefault(part)
    return list(calls)


def _aggregate(relation: Relation, call: Call, limit: int | None) -> tuple[Aggregate, tuple[TypedExpression, ...]]:
    """Return an aggregate and its arguments. Raises SqlError."""
    given = [argument for argument in call.arguments if not isinstance(argument, Star)]
    codes = [relation.bind(argument) for argument in given]
    arguments = [
        Argument(code.type, argument.value if isinstance(argument, Literal) else None, isinstance(argument, Literal))
        for code, argument in zip(codes, given, strict=True)
    ]
    maker = (relation.standard and STANDARD.get(call.name)) or AGGREGATES[call.name]
    try:
        aggregate = maker(arguments)
    except TypeError as error:
        raise SqlError(call.place, f"{call.name}: {error}") from error
    return aggregate if limit is None else limit_list(aggregate, limit), tuple(codes[: aggregate.columns])


def _limit(settings: Mapping[str, str], call: Call) -> int | None:
    """Return the largest number of values that an aggregate stores, or None without a setting. Raises SqlError."""
    text = settings.get(f"ksql.functions.{call.name.lower()}.limit")
    if text is not None and not text.isdecimal():
        raise SqlError(call.place, f"the limit of {call.name} is {text!r}: SET it to a whole number")
    return None if text is None else int(text)
