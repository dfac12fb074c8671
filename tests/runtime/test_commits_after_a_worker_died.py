"""After a worker ran out of memory, commits are smaller. Once workers are stable, a new query has larger ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.driver import registered_source
from forebay.runtime.driver.registered_source import RegisteredSource
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.pacing import Limits


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> RegisteredSource:
    monkeypatch.setattr(registered_source, "data_source", lambda sealed: sealed)
    monkeypatch.setattr(registered_source, "SealedSpec", lambda spec: spec)
    registered: list[Any] = []
    context = SimpleNamespace(getConf=dict, environment={})
    sources = SimpleNamespace(register=registered.append)
    session: Any = SimpleNamespace(dataSource=sources, registered=registered, sparkContext=context)
    kafka: Any = None
    limits = Limits(max_records=50_000, max_bytes=1_000_000)
    spec = JobSpec("svc", "svc", 1, 1, kafka, {}, {}, "v1", limits=limits)
    return RegisteredSource(session, spec)


def limits(source: RegisteredSource) -> tuple[int, int]:
    session: Any = source._session
    limits = session.registered[-1].limits
    return limits.max_records, limits.max_bytes


def test_commit_limits_are_halved_and_doubled_again_by_a_new_query(source: RegisteredSource) -> None:
    source.shrink_commits()
    assert limits(source) == (25_000, 500_000)
    intervals = 0
    while not source.may_grow():
        intervals += 1
        assert intervals < 10
    assert intervals > 0
    assert limits(source) == (25_000, 500_000), "a query keeps the limits that it was started with"
    source.apply_limits()
    assert limits(source) == (50_000, 1_000_000)


def test_a_query_with_its_full_commit_limits_is_not_restarted(source: RegisteredSource) -> None:
    assert not any(source.may_grow() for _ in range(100))
