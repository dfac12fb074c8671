"""After a worker died for lack of memory commits are smaller; once workers work on, a new query has larger ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.driver import query
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.pacing import Limits


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> JobRunner:
    monkeypatch.setattr(query, "data_source", lambda sealed: sealed)
    monkeypatch.setattr(query, "SealedSpec", lambda spec: spec)
    registered: list[Any] = []
    context = SimpleNamespace(getConf=dict, environment={})
    source = SimpleNamespace(register=registered.append)
    session: Any = SimpleNamespace(dataSource=source, registered=registered, sparkContext=context)
    kafka: Any = None
    limits = Limits(max_records=50_000, max_bytes=1_000_000)
    spec = JobSpec("svc", "svc", 1, 1, kafka, {}, {}, "v1", limits=limits)
    plan: Any = None
    return JobRunner(session, spec, plan, lambda *_: None)


def limits(runner: JobRunner) -> tuple[int, int]:
    session: Any = runner._session
    limits = session.registered[-1].limits
    return limits.max_records, limits.max_bytes


def test_they_are_halved_and_grow_again_by_a_new_query(runner: JobRunner) -> None:
    runner._smaller_commits()
    assert limits(runner) == (25_000, 500_000)
    intervals = 0
    while not runner._restarting.is_set():
        runner._may_grow()
        intervals += 1
        assert intervals < 10
    assert intervals > 1
    assert limits(runner) == (25_000, 500_000), "a query keeps the limits that it was started with"
    runner._limit_commits()
    assert limits(runner) == (50_000, 1_000_000)


def test_a_query_that_has_its_limits_is_not_started_again(runner: JobRunner) -> None:
    for _ in range(100):
        runner._may_grow()
    assert not runner._restarting.is_set()
