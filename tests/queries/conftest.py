"""Fixtures with a task's changelogs and the stores that follow them."""

from __future__ import annotations

import pytest

from forebay.queries.stores import JobStores
from tests.queries.written import WrittenTask, job_of


@pytest.fixture
def task() -> WrittenTask:
    """Return a task with one committed, empty transaction."""
    task = WrittenTask()
    task.publish()
    return task


@pytest.fixture
def job(task: WrittenTask) -> JobStores:
    """Return the stores of a job with only that task."""
    return job_of(task)
