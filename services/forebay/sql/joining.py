"""Analysis of joins, which determines the sides that must be repartitioned and the key of the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from forebay.sql.catalog import Named, Source
from forebay.sql.errors import SqlError
from forebay.sql.plan import Joined, Rekeyed, Settled, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.relation import KeyColumn, Relation
from forebay.sql.syntax import Call, Column, Expression, JoinClause
from forebay.sql.types import SqlType
from forebay.sql.walk import columns


def synthetic(joins: Sequence[JoinClause], ons: Sequence[Expression]) -> bool:
    """Return whether the key of the last join is synthetic, which means that it is not the value of any column."""
    if not joins:
        return False
    # In a FULL JOIN, either side can be null, so the key is neither column. ksqlDB adds a ROWKEY column.
    if joins[-1].kind == "FULL":
        return True
    on = ons[-1]
    return isinstance(on, Call) and not any(isinstance(side, Column) for side in on.arguments)


def join(left: Relation, right: Relation, join: JoinClause, on: Expression, made: str, key_format: str) -> Relation:
    """Return the joined rows of both sides. Raises SqlError.

    Args:
        left: Rows of the left side.
        right: Rows of the right side.
        join: The JOIN clause.
        on: Its condition.
        made: Name for a synthetic key.
        key_format: Format of the key if neither side has keys.
    """
    mine, theirs = _sides(left, right, on)
    _check(left, right, join)
    foreign = None
    if left.is_table and right.is_table:
        if not _is_key(right, theirs):
            raise SqlError(
                on.place, f"{_key_names(right)} is the other table's key: write ON ... = {_key_names(right)}"
            )
        # Like ksqlDB, use a foreign-key join if the left expression is not the key of the left table. The right
        # expression must always be the key of the right table.
        if not _is_key(left, mine):
            left, right = _settle(left), _settle(right)
            _check_unwindowed(left, right, on)
            foreign = left.bind(mine)
            _check_foreign(foreign, right.keys[0].named.type, on)
            if join.kind not in ("INNER", "LEFT"):
                raise SqlError(on.place, f"a {join.kind} JOIN by a foreign key can't be computed: write INNER or LEFT")
    elif right.is_table and not _is_key(right, theirs):
        raise SqlError(
            on.place, f"a stream is joined with a table by the key of the table: write ON ... = {_key_names(right)}"
        )
    kept_left, kept_right = left, right
    if foreign is None:
        kept_left = _key(left, mine, _format(left, right, key_format))
        kept_right = _key(right, theirs, kept_left.format)
        if kept_left.keys and kept_right.keys:
            _check_types(kept_left, kept_right, on)
    return _join(kept_left, kept_right, join, (mine, theirs), foreign, made)


def _join(
    left: Relation,
    right: Relation,
    join: JoinClause,
    sides: tuple[Expression, Expression],
    foreign: TypedExpression | None,
    made: str,
) -> Relation:
    within, kind = join.within, join.kind
    by = left.recorded_text(sides[0]), right.recorded_text(sides[1])
    keys = left.keys if foreign is not None else _result_keys(left, join, sides, made)
    table = left.is_table and right.is_table
    if kind == "RIGHT":
        # The DSL has no right join, so swap the sides, and with them the two durations of WITHIN.
        left, right, kind, by = right, left, "LEFT", (by[1], by[0])
        within = None if within is None else (within[1], within[0])
    step = Joined(
        left.step,
        right.step,
        kind,
        within,
        join.grace_ms,
        foreign,
        (len(left.slots), len(right.slots)),
        by,
        left.windowing.size_ms if left.windowing not in (None, right.windowing) else 0,
    )
    return Relation(
        step,
        left.slots + right.slots,
        keys,
        left.format,
        table,
        left.windowing,
        standard=left.standard,
        sources=left.sources + right.sources,
    )


def _format(left: Relation, right: Relation, otherwise: str) -> str:
    """Return the format of the key with which both sides are joined. The result may have another format."""
    if right.is_table and not left.is_table:
        # It costs less to repartition a stream than a table.
        return right.format
    return next((item for item in (left.format, right.format) if item != "NONE"), otherwise)


def made_name(found: Iterable[Source]) -> str:
    """Return an unused name for the synthetic key of a join."""
    taken = {column.name for source in found for column in source.columns}
    number, name = 0, "ROWKEY"
    while name in taken:
        number += 1
        name = f"ROWKEY_{number}"
    return name


def _result_keys(
    left: Relation, join: JoinClause, sides: tuple[Expression, Expression], name: str
) -> tuple[KeyColumn, ...]:
    mine, theirs = sides
    key = left.keys[0]
    known = key.equals if not key.is_made else ()
    all_equal = tuple(dict.fromkeys((*known, *sides)))
    if join.kind == "FULL" or not any(isinstance(item, Column) for item in all_equal):
        call = Call("JOINKEY", (mine, theirs))
        result = (Column(name), call, Call("JOINKEY", (theirs, mine)))
        return (KeyColumn(Named(name, key.named.type), result, is_made=True),)
    return (KeyColumn(key.named, all_equal),)


def _sides(left: Relation, right: Relation, on: Expression) -> tuple[Expression, Expression]:
    if not isinstance(on, Call) or on.name != "=":
        raise SqlError(on.place, "a join takes one equality: write ON a.column = b.column, other conditions in WHERE")
    one, other = on.arguments
    aliases = {slot.source for slot in right.slots} - {slot.source for slot in left.slots}
    used = [{column.source for column in columns(item)} for item in (one, other)]
    if used[1] and used[1] <= aliases and not used[0] & aliases:
        return one, other
    if used[0] and used[0] <= aliases and not used[1] & aliases:
        return other, one
    raise SqlError(on.place, "each side of the equality must be of one side of the join: write ON a.x = b.y")


def _check(left: Relation, right: Relation, join: JoinClause) -> None:
    place = join.source.place
    if not left.is_table and not right.is_table and join.within is None:
        raise SqlError(
            place, "a join of two streams needs a time limit: write WITHIN 1 HOUR (GRACE PERIOD ...) before ON"
        )
    if right.is_table and join.within is not None:
        raise SqlError(place, "a join with a table has no time limit: leave WITHIN out")
    if left.is_table and not right.is_table:
        raise SqlError(place, "a table can't be joined with a stream: write FROM the stream JOIN the table")
    if not left.is_table and right.is_table and join.kind in ("FULL", "RIGHT"):
        raise SqlError(place, f"a stream has no {join.kind} JOIN with a table: write INNER or LEFT JOIN")


def _is_key(side: Relation, expression: Expression) -> bool:
    return len(side.keys) == 1 and expression in side.keys[0].equals


def _key_names(side: Relation) -> str:
    return ", ".join(
        f"{column.source}.{column.name}"
        for key in side.keys
        for column in sorted((e for e in key.equals if isinstance(e, Column)), key=lambda c: c.name)
    )


def _key(side: Relation, expression: Expression, wanted: str) -> Relation:
    """Return a side with the key of the join. A side that already has this key is returned unchanged."""
    if _is_key(side, expression) and side.format == wanted:
        return _settle(side)
    if side.windowing is not None:
        raise SqlError(
            expression.place,
            f"{to_sql(expression)} is not the key of rows that have windows, and a join by it would lose the windows: "
            "join by the key, or CREATE a source without WINDOW_TYPE over the topic",
        )
    code = side.bind(expression)
    equals = side.keys[0].equals if _is_key(side, expression) else (expression,)
    name = expression.name if isinstance(expression, Column) else "ROWKEY"
    named = Named(name, code.type)
    step = Rekeyed(side.step, (code,), (named,), wanted)
    return replace(
        side,
        step=step,
        keys=(KeyColumn(named, equals),),
        format=wanted,
        windowing=None,
        is_framed=False,
    )


def _settle(side: Relation) -> Relation:
    """Return a side in which equal keys have equal bytes."""
    if not side.is_framed:
        return side
    step = Settled(side.step, tuple(key.named for key in side.keys), side.format, side.windowing)
    return replace(side, step=step, is_framed=False)


def _check_unwindowed(left: Relation, right: Relation, on: Expression) -> None:
    if left.windowing is not None or right.windowing is not None:
        raise SqlError(
            on.place, "tables with windows have no join by a foreign key: join them by their keys, or declare them "
            "without WINDOW_TYPE"
        )  # fmt: skip


def _check_foreign(foreign: TypedExpression, key: SqlType, on: Expression) -> None:
    if foreign.type != key:
        raise SqlError(
            on.place,
            f"{foreign.text} is {foreign.type}, the other table's key {key}: "
            f"write ON CAST({foreign.text} AS {key}) = ...",
        )


def _check_types(left: Relation, right: Relation, on: Expression) -> None:
    windows = (left.windowing, right.windowing)
    fit = None not in windows and not left.is_table and all(window and window.size_ms for window in windows)
    if left.windowing != right.windowing and not fit:
        raise SqlError(on.place, "the keys have different windows: give both sources the same ones, or none")
    one, other = left.keys[0].named.type, right.keys[0].named.type
    if one != other:
        raise SqlError(on.place, f"the keys are {one} and {other}: CAST one to the other's type")
