"""Random graphs of tables have the results of a small relational model: with diamonds, every join, restarts, 1-3 tasks.

A failure shows the first case that differs, minimized: its steps, its records and the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from tests.relational import in_ksml, in_sql
from tests.relational.graphs import ONE, TWO, WINDOWS, Case, Verb, random_case
from tests.relational.in_dsl import DSL
from tests.relational.in_ksml import KSML
from tests.relational.in_sql import SQL
from tests.relational.running import Language, difference, difference_after_downtime, failures

JOINS = {Verb.TABLE, Verb.VERSIONED, Verb.FILTER, Verb.MAP, Verb.KEEP, Verb.JOIN, Verb.LEFT_JOIN, Verb.OUTER_JOIN}
FAMILIES = {
    "tables": frozenset(JOINS | {Verb.GROUP}),
    "streams": frozenset(JOINS - {Verb.VERSIONED} | {Verb.GROUP, Verb.SUM, Verb.ENRICH}),
    "foreign keys": frozenset(JOINS | {Verb.GROUP, Verb.FOREIGN, Verb.LEFT_FOREIGN}),
    "windows": frozenset({Verb.TABLE, Verb.FILTER, Verb.OUTER_JOIN, Verb.GROUP} | WINDOWS),
    "windows and foreign keys": frozenset(
        {Verb.TABLE, Verb.MAP, Verb.KEEP, Verb.JOIN, Verb.LEFT_JOIN, Verb.GROUP, Verb.SUPPRESS, Verb.FOREIGN}
        | {Verb.FILTER, Verb.LEFT_FOREIGN}
        | WINDOWS
    ),
    "everything": frozenset(Verb),
}


def check(language: Language, verbs: frozenset[Verb], first: int, count: int) -> None:
    check_all(
        (random_case(seed, verbs) for seed in range(first, first + count)), lambda case: difference(case, language)
    )


def with_restarts(case: Case) -> Case:
    """Return the case with a restart before every record."""
    return replace(case, restarts=frozenset(range(len(case.records))))


def check_all(cases: Iterable[Case], differs: Callable[[Case], str]) -> None:
    texts = failures(iter(cases), differs)
    assert not texts, f"{len(texts)} graphs differ; the first, made small:\n{texts[0]}"


@pytest.mark.parametrize("family", FAMILIES)
def test_some_graphs(family: str) -> None:
    check(DSL, FAMILIES[family], 0, 8)


@pytest.mark.parametrize("family", FAMILIES)
def test_some_graphs_with_a_restart_before_every_record_and_after_a_downtime(family: str) -> None:
    cases = [random_case(seed, FAMILIES[family]) for seed in range(100, 104)]
    check_all(map(with_restarts, cases), lambda case: difference(case, DSL))
    check_all(cases, lambda case: difference_after_downtime(case, DSL))


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_many_graphs_with_a_restart_before_every_record(family: str) -> None:
    cases = (with_restarts(random_case(seed, FAMILIES[family])) for seed in range(3_000, 3_100))
    check_all(cases, lambda case: difference(case, DSL))


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_a_backlog_after_a_downtime_gives_the_same_tables_as_live_records(family: str) -> None:
    verbs = FAMILIES[family]
    check_all(
        (random_case(seed, verbs) for seed in range(4_000, 4_100)), lambda case: difference_after_downtime(case, DSL)
    )


@pytest.mark.long
@pytest.mark.parametrize("first", [1_000, 2_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_many_graphs_in_the_dsl(family: str, first: int) -> None:
    check(DSL, FAMILIES[family], first, 250)


@pytest.mark.long
@pytest.mark.parametrize("first", [1_000, 2_000])
def test_many_graphs_in_sql(first: int) -> None:
    check(SQL, in_sql.VERBS, first, 100)


@pytest.mark.long
@pytest.mark.parametrize("first", [1_000, 2_000])
def test_many_graphs_in_ksml(first: int) -> None:
    check(KSML, in_ksml.VERBS, first, 100)


def test_random_graphs_cover_every_verb() -> None:
    drawn = {step.verb for seed in range(100) for step in random_case(seed, frozenset(Verb)).steps}
    assert drawn == {*Verb} == {Verb.TABLE, Verb.VERSIONED, Verb.SUM, Verb.ENRICH} | WINDOWS | ONE | TWO
