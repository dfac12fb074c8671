"""Checks of statements that change earlier ones (CREATE OR REPLACE, DROP, TERMINATE), and of cycles between queries.

The rules are those of ksqlDB (MetaStoreImpl, StructuredDataSource.canUpgradeTo). A replacement must have the same kind,
topic, formats, event time and columns. It may add columns at the end. A source that a query reads can't be dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from forebay.sql.catalog import Named, Source
from forebay.sql.errors import Place, SqlError
from forebay.sql.plan import Joined, QueryPlan, Scan, Step


def scans(step: Step) -> Iterator[Scan]:
    """Yield the scans that a step reads, directly or through other steps."""
    if isinstance(step, Scan):
        yield step
        return
    for parent in (step.left, step.right) if isinstance(step, Joined) else (step.parent,):
        yield from scans(parent)


def reads(query: QueryPlan) -> tuple[Source, ...]:
    """Return the sources that a query reads, without duplicates."""
    return tuple(dict.fromkeys(scan.source for scan in scans(query.step)))


def with_source(query: QueryPlan, old: Source, new: Source) -> QueryPlan:
    """Return a query that reads and writes `new` instead of `old`. Columns are resolved by name."""
    target = new if query.target == old else query.target
    return replace(query, step=_step_with(query.step, old, new), target=target)


def _step_with(step: Step, old: Source, new: Source) -> Step:
    if isinstance(step, Scan):
        return replace(step, source=new) if step.source == old else step
    if isinstance(step, Joined):
        return replace(step, left=_step_with(step.left, old, new), right=_step_with(step.right, old, new))
    return replace(step, parent=_step_with(step.parent, old, new))


def check_replacement(old: Source, new: Source) -> None:
    """Raise SqlError if a source can't replace an earlier source."""
    for what, before, after in (
        ("kind", _kind(old), _kind(new)),
        ("topic", old.topic, new.topic),
        ("formats", _formats(old), _formats(new)),
        ("event time", _event_time(old), _event_time(new)),
        ("key columns", _list_of(old.keys), _list_of(new.keys)),
        ("header columns", ", ".join(map(str, old.headers)), ", ".join(map(str, new.headers))),
    ):
        if before != after:
            raise SqlError(
                new.place,
                f"{new.name} can't be replaced: its {what} would change from {before or 'none'} to {after or 'none'}: "
                f"DROP {old.name} before, or give this one another name",
            )
    for at, column in enumerate(old.values):
        if at >= len(new.values) or new.values[at] != column:
            raise SqlError(
                new.place,
                f"{new.name} can't be replaced: the column {column} would be "
                f"{'changed or moved' if at < len(new.values) else 'missing'}: keep the columns "
                f"{_list_of(old.values)} in this order, and add new ones at the end",
            )


def check_inserts(new: Source, old: Source, queries: Iterable[QueryPlan]) -> None:
    """Raise SqlError if a replacement adds columns while an INSERT INTO writes only the former columns."""
    added = new.values[len(old.values) :]
    for query in queries:
        if added and query.target == old and query.is_insert:
            raise SqlError(
                new.place,
                f"{new.name} can't be replaced: {query.name} writes it without {_list_of(added)}: "
                "move the INSERT INTO behind this statement, and select all columns",
            )


def read_only(source: Source, what: str) -> str:
    """Return the message of a statement that can't change a stream or table of CREATE SOURCE."""
    kind = "TABLE" if source.is_table else "STREAM"
    return f"{source.name} is a SOURCE {kind}, which is read only: leave {what} out, or declare it without SOURCE"


def named_queries(queries: Sequence[QueryPlan], name: str, place: Place) -> list[QueryPlan]:
    """Return the query with a name, or all queries if the name is ALL.

    The number at the end of the name may differ, because ksqlDB counts all statements and not only queries.

    Raises:
        SqlError: There is no such query.
    """
    stem, _, number = name.rpartition("_")
    ended = [query for query in queries if name in ("ALL", query.name)]
    if not ended and number.isdecimal():
        ended = [query for query in queries if query.name.rpartition("_")[0] == stem]
    if not ended and name != "ALL":
        names = ", ".join(query.name for query in queries) or "none"
        raise SqlError(place, f"there is no query {name}: the statements before this one have {names}")
    return ended


def terminate(queries: Sequence[QueryPlan], name: str, place: Place) -> list[QueryPlan]:
    """Return the queries that TERMINATE ends.

    Raises:
        SqlError: There is no such query, or another query reads its result.
    """
    ended = named_queries(queries, name, place)
    for query in ended:
        used = [query_using for query_using in users(query.target, queries) if not query.is_insert]
        if used and name != "ALL":
            raise SqlError(place, f"{query.name} can't be terminated: {', '.join(used)}: terminate those before")
    return ended


def users(source: Source, queries: Iterable[QueryPlan]) -> list[str]:
    """Return texts that name the queries which read a source, and the INSERT INTO queries which write it."""
    users: list[str] = []
    for query in queries:
        if source in reads(query):
            users.append(f"{query.target.name} ({query.name}) reads it")
        elif query.is_insert and query.target == source:
            users.append(f"{query.name} writes it")
    return users


def drop_refused(source: Source, used: Sequence[str], place: Place) -> SqlError:
    """Return the error for a DROP of a source that queries use."""
    return SqlError(
        place,
        f"{source.name} can't be dropped: {', '.join(used)}: leave this DROP out, or take those statements out",
    )


def check_circles(added: QueryPlan, queries: Sequence[QueryPlan]) -> None:
    """Raise SqlError if a query would read its own output, directly or through other queries."""
    result = added.target.topic
    # A query whose topic no query reads can't close a cycle. Returning here keeps the check fast for long files.
    if not any(scan.source.topic == result for query in (*queries, added) for scan in scans(query.step)):
        return
    edges: dict[str, dict[str, None]] = {}
    for query in (*queries, added):
        for source in reads(query):
            edges.setdefault(source.topic, {})[query.target.topic] = None
    for source in reads(added):
        path = _path(edges, added.target.topic, source.topic)
        if path:
            raise SqlError(
                added.place,
                f"{added.name} would read its own results, in a cycle: topics {' -> '.join((source.topic, *path))}: "
                "write to a topic that nothing before it reads",
            )


def _path(edges: dict[str, dict[str, None]], start: str, end: str) -> list[str]:
    """Return the topics on a path from `start` to `end`, both included, or [] if there is no path."""
    before: dict[str, str | None] = {start: None}
    waiting = [start]
    for topic in waiting:
        if topic == end:
            results: list[str] = []
            at: str | None = topic
            while at is not None:
                results.append(at)
                at = before[at]
            return results[::-1]
        for other in edges.get(topic, ()):
            if other not in before:
                before[other] = topic
                waiting.append(other)
    return []


def _kind(source: Source) -> str:
    kind = "table" if source.is_table else "stream"
    return f"{kind} of a query" if source.is_derived else f"declared {kind}"


def _formats(source: Source) -> str:
    encoding, window = source.encoding, source.windowing
    wraps = "" if encoding.wraps is None else f" WRAP_SINGLE_VALUE={encoding.wraps}"
    windows = "" if window is None else f" {window.kind} {window.size_ms}"
    return f"{encoding.key_kind}{windows}, {encoding.value} {encoding.delimiter!r}{wraps}"


def _event_time(source: Source) -> str:
    return " ".join(source.timestamp or ())


def _list_of(columns: Iterable[Named]) -> str:
    return ", ".join(map(str, columns))
