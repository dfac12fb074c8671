"""A job's Python functions run in the workers that get its leases. Jobs that share a Spark have separate workers."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from forebay.runtime.launch.own_workers import JOBS, VARIABLE, own_workers

READERS = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}


def environment_within(conf: Mapping[str, str]) -> dict[str, str]:
    context = SimpleNamespace(getConf=lambda: conf, environment={"A": "1"})
    with own_workers(context, "sums"):  # type: ignore[arg-type]
        environment = dict(context.environment)
    assert context.environment == {"A": "1"}
    return environment


def test_each_of_several_jobs_has_a_separate_environment() -> None:
    assert environment_within({JOBS: "2"}) == {"A": "1", VARIABLE: "sums", **READERS}


@pytest.mark.parametrize("conf", [{}, {JOBS: "1"}])
def test_a_single_job_has_no_separate_environment(conf: Mapping[str, str]) -> None:
    assert environment_within(conf) == {"A": "1", **READERS}
