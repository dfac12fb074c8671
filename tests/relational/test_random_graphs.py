"""Random graphs of tables give what a small relational model gives: diamonds, joins of every kind, restarts, 1-3 tasks.

A failure shows the first case that differs, made as small as possible: its steps, its records, and the difference.
"""

from __future__ import annotations

import pytest

from tests.relational.graphs import ONE, TWO, WINDOWS, Verb, random_case
from tests.relational.in_dsl import driver_of
from tests.relational.running import difference, failures, send_number

JOINS = {Verb.TABLE, Verb.VERSIONED, Verb.FILTER, Verb.MAP, Verb.KEEP, Verb.JOIN, Verb.LEFT_JOIN, Verb.OUTER_JOIN}
FAMILIES = {
    "tables": frozenset(JOINS | {Verb.GROUP}),
    "streams": frozenset(JOINS - {Verb.VERSIONED} | {Verb.GROUP, Verb.SUM, Verb.ENRICH}),
    "foreign keys": frozenset(JOINS | {Verb.GROUP, Verb.FOREIGN, Verb.LEFT_FOREIGN}),
    "windows": frozenset({Verb.TABLE, Verb.FILTER, Verb.OUTER_JOIN, Verb.GROUP} | WINDOWS),
    "everything": frozenset(Verb),
}


def check(family: str, first: int, count: int) -> None:
    cases = (random_case(seed, FAMILIES[family]) for seed in range(first, first + count))
    found = failures(cases, lambda case: difference(case, driver_of, send_number))
    assert not found, f"{len(found)} of {count} graphs differ; the first, made small:\n{found[0]}"


@pytest.mark.parametrize("family", FAMILIES)
def test_some_graphs(family: str) -> None:
    check(family, 0, 12)


@pytest.mark.long
@pytest.mark.parametrize("first", [1_000, 2_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_many_graphs(family: str, first: int) -> None:
    check(family, first, 350)


def test_every_verb_is_drawn() -> None:
    drawn = {step.verb for seed in range(100) for step in random_case(seed, frozenset(Verb)).steps}
    assert drawn == {*Verb} == {Verb.TABLE, Verb.VERSIONED, Verb.SUM, Verb.ENRICH} | WINDOWS | ONE | TWO
