"""DESCRIBE ... EXTENDED: a stream or table, the queries that read and write it, and their lag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from forebay.sql.evolution import reads
from forebay.sql.program import Program
from forebay.sql.syntax import Command

Lag = Callable[[Sequence[str]], Mapping[str, int]]
"""Returns the number of records that the job has not read yet, by topic, without topics that it does not read."""


def describe_extended(program: Program, command: Command, lag: Lag) -> Iterator[dict[str, Any]]:
    """Yield the lines of the response. Raises SqlError, Unavailable."""
    source = program.catalog.get(command.subject, command.place)
    queries = (*program.queries, *program.waiting)
    writers = [query for query in queries if query.target.name == source.name]
    readers = [query for query in queries if source.name in {read.name for read in reads(query)}]
    topics = dict.fromkeys(of.topic for query in writers for of in reads(query) if not of.is_derived)
    if readers and not source.is_derived:
        topics[source.topic] = None
    behind = lag(list(topics))
    rows = [
        ("kind", "table" if source.is_table else "stream"),
        *(("key", str(column)) for column in source.keys),
        *(("column", str(column)) for column in source.values),
        ("topic", source.topic),
        ("key format", source.encoding.key),
        ("value format", source.encoding.value),
        *(("written by", f"{query.name}: {query.text}") for query in writers),
        *(("read by", f"{query.name}: {query.text}") for query in readers),
        *(("lag", f"{topic}: {_records(behind.get(topic))}") for topic in topics),
    ]
    yield {"columns": [{"name": "property"}, {"name": "value"}]}
    yield from ({"row": {"property": name, "value": value}} for name, value in rows)
    yield {"end": {"rows": len(rows)}}


def _records(lag: int | None) -> str:
    return "nothing is read yet" if lag is None else f"{lag} records"
