"""A job that restarts before every record, each time with another wall clock, has the same results as without."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance import described
from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded
from tests.conformance.test_described_cases import PUBLIC, SPREAD
from tests.dsl import every_operator
from tests.dsl.random_topologies import drawn_job, drawn_records

pytestmark = pytest.mark.long
HOUR = 3_600_000


class StartsOver(TestDriver):
    """Restarts before every record, with a clock that is hours ahead or behind."""

    __test__ = False

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._draw = random.Random(1)

    def pipe(self, *given: Any, **more: Any) -> list[Forwarded[Any]]:
        self._time.clock += self._draw.choice((-HOUR, -1, 0, 7, HOUR, 30 * HOUR))
        assert self.restart() == [], "a start sends nothing"
        return super().pipe(*given, **more)


def results(driver: TestDriver, given: list[tuple[str, Any, Any, int]]) -> list[Any]:
    """Process records. Return the outputs of each one."""
    results = [driver.pipe(key, value, topic, at) for topic, key, value, at in given]
    assert driver.errors == []
    return results


@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_case(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described, "TestDriver", StartsOver)
    result = described.run_case(case, 0)
    assert result.passed, "\n".join([result.problem, *map(str, result.differences)])
    if case in [spread for _, spread in SPREAD]:
        assert described.run_case(case, 0, tasks=3).passed


@pytest.mark.parametrize("tasks", [1, 3])
def test_every_operator(tasks: int) -> None:
    given, job = every_operator.records(30), every_operator.JOB
    assert results(StartsOver(job, tasks=tasks), given) == results(TestDriver(job, tasks=tasks), given)


@pytest.mark.parametrize("seed", range(6))
def test_random_topologies(seed: int) -> None:
    given, job = drawn_records(seed, 40), drawn_job(seed)
    for tasks in (1, 3):
        assert results(StartsOver(job, tasks=tasks), given) == results(TestDriver(job, tasks=tasks), given), tasks
