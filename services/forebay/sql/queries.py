"""Parser of SELECT."""

from __future__ import annotations

from forebay.sql.errors import Place, SqlError
from forebay.sql.expressions import expression
from forebay.sql.instants import timestamp_of
from forebay.sql.limits import WINDOWS_OF_RECORD
from forebay.sql.reader import Reader
from forebay.sql.syntax import Expression, From, JoinClause, Query, Selected, WindowClause

_BEHIND_SOURCE = frozenset(
    [
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "OUTER",
        "JOIN",
        "WITHIN",
        "ON",
        "WINDOW",
        "WHERE",
        "GROUP",
        "PARTITION",
        "HAVING",
        "EMIT",
        "LIMIT",
        "GRACE",
        "ORDER",
        "FOR",
    ]
)


def query(read: Reader) -> Query:
    """Return the next SELECT. Raises SqlError."""
    place = read.place
    read.expect("SELECT")
    select = [_select(read)]
    while read.take(","):
        select.append(_select(read))
    read.expect("FROM")
    source = _source(read)
    as_of = _as_of(read) if read.take("FOR", "SYSTEM_TIME", "AS", "OF") else None
    joins = _joins(read)
    window = _window(read) if read.take("WINDOW") else None
    where = expression(read) if read.take("WHERE") else None
    group: tuple[Expression, ...] = ()
    partition: tuple[Expression, ...] = ()
    having: Expression | None = None
    while True:
        if read.take("GROUP"):
            read.expect("BY")
            group = _several(read)
        elif read.take("PARTITION"):
            read.expect("BY")
            partition = _several(read)
        elif read.take("HAVING"):
            having = expression(read)
        else:
            break
    if read.at("ORDER"):
        read.fail("no ORDER BY: rows come in the order of their changes, or of their keys")
    emit = ""
    if read.take("EMIT"):
        if not (read.at("CHANGES") or read.at("FINAL")):
            read.fail("CHANGES or FINAL")
        emit = read.step().text
    limit = read.whole() if read.take("LIMIT") else None
    return Query(tuple(select), source, joins, window, where, group, partition, having, emit, limit, place, as_of)


def _select(read: Reader) -> Selected:
    start, result = read.token.start, expression(read)
    text = read.since(start)
    if read.take("AS"):
        return Selected(result, read.name("a column's name"), text)
    behind = read.token
    if behind.kind == "name" or (behind.kind == "word" and behind.text != "FROM"):
        return Selected(result, read.name(), text)
    return Selected(result, None, text)


def _several(read: Reader) -> tuple[Expression, ...]:
    """Return the expressions of GROUP BY or PARTITION BY. The list may be in parentheses."""
    if read.at("("):
        depth, ahead = 0, 0
        while True:
            token = read.ahead(ahead)
            if token.kind == "symbol":
                depth += {"(": 1, ")": -1}.get(token.text, 0)
            ahead += 1
            if depth == 0 or token.kind == "end":
                break
        behind = read.ahead(ahead)
        if behind.kind == "end" or behind.text in (";", "HAVING", "EMIT", "LIMIT", "PARTITION", "GROUP"):
            read.step()
            result = _list(read)
            read.expect(")")
            return tuple(result)
    return tuple(_list(read))


def _list(read: Reader) -> list[Expression]:
    results = [expression(read)]
    while read.take(","):
        results.append(expression(read))
    return results


def _source(read: Reader) -> From:
    place = read.place
    if read.at("("):
        read.fail("the name of a stream or table; a query of its own becomes CREATE STREAM or TABLE ... AS before")
    name = read.name("the name of a stream or table")
    if read.take("AS"):
        return From(name, read.name("an alias"), place)
    token = read.token
    if token.kind == "name" or (token.kind == "word" and token.text not in _BEHIND_SOURCE):
        return From(name, read.name(), place)
    return From(name, name, place)


def _as_of(read: Reader) -> int:
    wanted = "ms since 1970, or a text such as '2024-01-31T10:00:00'"
    if read.token.kind == "number":
        return read.whole(wanted)
    place, text = read.place, read.string(wanted)
    try:
        return timestamp_of(text)
    except ValueError as error:
        raise SqlError(place, f"{text!r} is not a time: write {wanted}") from error


def _joins(read: Reader) -> tuple[JoinClause, ...]:
    joins: list[JoinClause] = []
    while True:
        kind = "INNER"
        if read.at("INNER", "JOIN"):
            read.step()
        for outer in ("LEFT", "RIGHT", "FULL"):
            if read.at(outer, "JOIN") or read.at(outer, "OUTER", "JOIN"):
                kind = outer
                read.step()
                read.take("OUTER")
        if read.at("OUTER", "JOIN"):
            kind = "FULL"
            read.step()
        if not read.take("JOIN"):
            return tuple(joins)
        source = _source(read)
        within, grace = _within(read)
        read.expect("ON")
        joins.append(JoinClause(kind, source, within, grace, expression(read)))


def _within(read: Reader) -> tuple[tuple[int, int] | None, int | None]:
    if not read.take("WITHIN"):
        return None, None
    if read.take("("):
        before = read.duration()
        read.expect(",")
        after = read.duration()
        read.expect(")")
    else:
        before = after = read.duration()
    return (before, after), read.duration() if read.take("GRACE", "PERIOD") else None


def _window(read: Reader) -> WindowClause:
    if read.token.kind in ("word", "name") and read.ahead().text in ("TUMBLING", "HOPPING", "SESSION"):
        read.step()
    if not (read.at("TUMBLING") or read.at("HOPPING") or read.at("SESSION")):
        read.fail("TUMBLING, HOPPING or SESSION")
    place, kind = read.place, read.step().text
    read.expect("(")
    size = 0
    advance: int | None = None
    advances = read.token.place
    grace: int | None = None
    retention: int | None = None
    if kind == "SESSION":
        size = read.duration()
        read.take(",")
    while not read.take(")"):
        if kind != "SESSION" and read.take("SIZE"):
            size = read.duration()
        elif kind == "HOPPING" and read.take("ADVANCE", "BY"):
            advances = read.token.place
            advance = read.duration()
        elif read.take("GRACE", "PERIOD"):
            grace = read.duration()
        elif read.take("RETENTION"):
            retention = read.duration()
        else:
            sizes = {"HOPPING": "SIZE, ADVANCE BY, ", "TUMBLING": "SIZE, "}.get(kind, "")
            read.fail(f"{sizes}GRACE PERIOD or RETENTION with a time such as 1 HOUR")
        if not read.at(")"):
            read.expect(",")
    if not size:
        written = "SESSION (1 HOUR)" if kind == "SESSION" else f"{kind} (SIZE 1 HOUR)"
        raise SqlError(place, f"a window lasts longer than 0 ms: write {written}, or another time")
    if advance is not None:
        _check_advance(size, advance, advances)
    return WindowClause(kind, size, size if advance is None else advance, grace, retention)


def _check_advance(size: int, advance: int, place: Place) -> None:
    """Raise SqlError if records would be in no window or in too many windows."""
    if advance > size:
        raise SqlError(
            place, "a window can't advance by more than its SIZE, records would lie between: write ADVANCE BY less"
        )
    if size > advance * WINDOWS_OF_RECORD:
        raise SqlError(
            place,
            f"each record would be in more than {WINDOWS_OF_RECORD} windows (limit WINDOWS_OF_RECORD): write "
            f"ADVANCE BY {-(-size // WINDOWS_OF_RECORD)} MILLISECONDS or more",
        )
