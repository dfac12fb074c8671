"""Nexmark's queries in SQL: each gives what an independent model computes of the same events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forebay.builder.topology_job import job
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded
from tests.nexmark.generator import Event, events
from tests.nexmark.model import expected_result, side_rows
from tests.sql.driven import plain

STATEMENTS = Path(__file__).parent / "statements"
QUERIES = sorted((file.stem for file in STATEMENTS.glob("q*.sql")), key=lambda name: int(name[1:]))


def outputs_of(query: str, sent: Sequence[Event], tasks: int) -> list[Forwarded[Any]]:
    """Return what a query sends to its topic."""
    text = "\n".join((STATEMENTS / f"{name}.sql").read_text() for name in ("sources", query))
    program = program_of(text, f"{query}.sql")
    driver = TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=tasks)
    inputs = {source.topic for source in program.catalog if not source.is_derived}
    used = {topic for topic in inputs if any(topic in stage.part.inputs for stage in driver.stages)}
    if "side_input" in used:
        driver.pipe_all(("side_input", (key,), (value,), 0) for key, value in side_rows().items())
    shapes = {source.topic: source for source in program.catalog if source.topic in used}
    driver.pipe_all(
        (event.topic, None, tuple(event.row[column.name] for column in shapes[event.topic].values), event.time)
        for event in sent
        if event.topic in used
    )
    assert driver.errors == []
    assert driver.late == []
    return [output for output in driver.outputs if output.topic == query.upper()]


def result_of(query: str, outputs: Sequence[Forwarded[Any]], *, is_table: bool) -> Any:
    """Return the rows of a stream in order, or the last row of each key."""
    if not is_table:
        keys = [() if output.key is None else output.key for output in outputs]
        return sorted((*key, *output.value) for key, output in zip(keys, outputs, strict=True))
    rows = {plain(output.key): output.value for output in outputs}
    return {key: value for key, value in rows.items() if value is not None}


def check(query: str, number: int, tasks: int, seed: int) -> None:
    sent = list(events(number, seed))
    persons, auctions, bids = (
        [event.row for event in sent if event.topic == topic] for topic in ("person", "auction", "bid")
    )
    wanted = expected_result(query, persons, auctions, bids)
    is_table = isinstance(wanted, dict)
    result = result_of(query, outputs_of(query, sent, tasks), is_table=is_table)
    assert wanted
    assert result == (wanted if is_table else sorted(wanted))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_gives_what_the_model_computes(query: str) -> None:
    check(query, 300, tasks=2, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_gives_what_the_model_computes_of_many_events(query: str, seed: int) -> None:
    check(query, 1_500, tasks=3, seed=seed)


def test_the_same_seed_gives_the_same_events() -> None:
    assert list(events(200, 5)) == list(events(200, 5)) != list(events(200, 6))
