"""A record passes through any number of operators."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.testing import TestDriver

STEPS = 600


@pytest.fixture(autouse=True)
def _limit_of_other_tests() -> Iterator[None]:
    """The recursion limit is the process's, so other tests would see it."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)


def test_ordinary_job_does_not_change_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    topology = Topology()
    rows: Any = topology.stream("i", int)
    for _ in range(30):
        rows = rows.map_values(lambda _, number: number + 1, int)
    rows.to("o")
    TestDriver(job(NoSettings, lambda _: topology), tasks=1)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("is_table", [True, False])
def test_a_chain_may_be_longer_than_python_s_default_stack(is_table: bool) -> None:
    topology = Topology()
    rows: Any = topology.table("i", int, store="i") if is_table else topology.stream("i", int)
    for _ in range(STEPS):
        rows = rows.map_values(lambda _, number: number + 1, int)
    (rows.to_stream() if is_table else rows).to("o")
    driver = TestDriver(job(NoSettings, lambda _: topology), tasks=1)
    driver.pipe("a", 1, topic="i")
    assert not driver.errors
    assert [output.value for output in driver.outputs] == [1 + STEPS]
