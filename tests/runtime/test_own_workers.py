"""Jobs that share a Spark have Python workers of their own; one that is alone has Spark's as they are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from forebay.runtime.own_workers import VARIABLE, own_workers
from forebay.runtime.session import SparkOptions


def environment_within(master: str) -> dict[str, str]:
    context = SimpleNamespace(master=master, environment={"A": "1"})
    with own_workers(context, "sums"):  # type: ignore[arg-type]
        found = dict(context.environment)
    assert context.environment == {"A": "1"}
    return found


def test_each_of_several_jobs_has_an_environment_of_its_own() -> None:
    assert environment_within(SparkOptions(jobs=2).master) == {"A": "1", VARIABLE: "sums"}


@pytest.mark.parametrize(
    "master", [SparkOptions().master, SparkOptions(slots=3).master, "k8s://https://kubernetes.default.svc"]
)
def test_a_job_that_is_alone_has_not(master: str) -> None:
    assert environment_within(master) == {"A": "1"}
