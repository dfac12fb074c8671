"""Which changes of a driver's readiness become Kubernetes Events."""

from __future__ import annotations

import pytest

from forebay.http.health import Verdict
from forebay.runtime.kubernetes.api import ApiRefused, ApiUnavailable
from forebay.runtime.kubernetes.readiness_events import ReadinessEvents


def looks(*reasons: str) -> list[str]:
    written: list[str] = []
    events = ReadinessEvents(lambda verdict: written.append(verdict.reason))
    for reason in reasons:
        events.look(Verdict(False, reason))
    return written


def test_each_reason_that_stays_is_written_once() -> None:
    assert looks("a", "a", "a", "b", "b", "a", "a") == ["a", "b", "a"]


def test_a_reason_that_passes_is_not_written() -> None:
    assert looks("a", "a", "b", "a", "a") == ["a"]


def test_reasons_that_differ_in_numbers_only_are_one() -> None:
    assert looks("waits for 1 s", "waits for 2 s", "waits for 10.5 s") == ["waits for 2 s"]


@pytest.mark.parametrize(("failure", "count"), [(ApiUnavailable("down"), 3), (ApiRefused("403"), 1)])
def test_what_could_not_be_written_is_repeated_unless_it_is_refused(failure: Exception, count: int) -> None:
    asked: list[str] = []

    def write(verdict: Verdict) -> None:
        asked.append(verdict.reason)
        raise failure

    events = ReadinessEvents(write)
    for _ in range(4):
        events.look(Verdict(False, "a"))
    assert asked == ["a"] * count
