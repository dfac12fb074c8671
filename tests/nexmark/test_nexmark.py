"""Each of Nexmark's queries in SQL has the result that an independent model computes from the same events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from forebay.builder.topology_job import job
from forebay.sql.compile import topology_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from tests.nexmark.generator import Event, events
from tests.nexmark.model import side_rows
from tests.nexmark.queries import QUERIES, expected_of, program_of_query, result_of


def outputs_of(query: str, sent: Sequence[Event], tasks: int) -> Iterator[tuple[Any, Any]]:
    """Yield keys and values that a query sends to its topic."""
    program = program_of_query(query)
    driver = TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=tasks)
    inputs = {source.topic for source in program.catalog if not source.is_derived}
    used = {
        topic
        for topic in inputs
        if any(topic in sub_topology.definition.inputs for sub_topology in driver.sub_topologies)
    }
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
    return ((output.key, output.value) for output in driver.outputs if output.topic == query.upper())


def check(query: str, number: int, tasks: int, seed: int) -> None:
    sent = list(events(number, seed))
    wanted = expected_of(query, sent)
    assert wanted
    assert result_of(outputs_of(query, sent, tasks), is_table=isinstance(wanted, dict)) == wanted


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
