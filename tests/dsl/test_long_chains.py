"""A record passes through any number of operators."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.testing import TestDriver

STEPS = 600


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
