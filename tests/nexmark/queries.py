"""Nexmark's queries as programs, and their outputs in the form of the model's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forebay.sql.program import Program, program_of
from tests.nexmark.generator import Event
from tests.nexmark.model import Result, expected_result
from tests.sql.driven import plain

_STATEMENTS = Path(__file__).parent / "statements"
QUERIES = sorted((file.stem for file in _STATEMENTS.glob("q*.sql")), key=lambda name: int(name[1:]))


def statements_of(query: str) -> str:
    """Return the statements of a query, after those that declare the inputs."""
    return "\n".join((_STATEMENTS / f"{name}.sql").read_text() for name in ("sources", query))


def program_of_query(query: str) -> Program:
    """Return the program of a query."""
    return program_of(statements_of(query), f"{query}.sql")


def expected_of(query: str, sent: Sequence[Event]) -> Result:
    """Return the expected result for these events: the sorted rows of a stream, or the rows of a table by key."""
    persons, auctions, bids = (
        [event.row for event in sent if event.topic == topic] for topic in ("person", "auction", "bid")
    )
    result = expected_result(query, persons, auctions, bids)
    return result if isinstance(result, dict) else sorted(result)


def result_of(outputs: Iterable[tuple[Any, Any]], *, is_table: bool) -> Result:
    """Return the result in outputs (key, value): the sorted rows of a stream, or the last row of each key."""
    return _rows_of_table(outputs) if is_table else sorted(_rows_of_stream(outputs))


def _rows_of_stream(outputs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, ...]]:
    for key, value in outputs:
        yield (*(() if key is None else key), *value)


def _rows_of_table(outputs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    rows = {plain(key): value for key, value in outputs}
    return {key: value for key, value in rows.items() if value is not None}
