"""In SQL and KSML jobs, a backfill followed by live processing has the results of live processing, for any split."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from forebay.job import Job
from forebay.testing import TestDriver
from forebay.testing import driver as driver_module
from tests.dsl.statement_texts import KSML, SQL, Raw, drawn
from tests.dsl.test_backfill_equals_live import Backfilled, stores
from tests.dsl.test_downtime_changes_nothing import results
from tests.ksml.running import driver as ksml
from tests.sql.driven import Driven as Statements
from tests.sql.driven import raw_output

FORWARDED = ("history_sql_priced", "history_sql_windows", "history_ksml_priced")
"""Outputs of several tasks, whose order between them may vary."""


def statements_job() -> Job:
    return Statements(SQL).driver._job


def definition_job() -> Job:
    return ksml(KSML).job


def put(driver: TestDriver, given: Sequence[Raw]) -> None:
    for topic, key, value, at in given:
        driver._put(topic, key, value, at, None)


def all_live(job: Job, tasks: int, given: Sequence[Raw]) -> TestDriver:
    driver = TestDriver(job, tasks=tasks)
    for topic, key, value, at in given:
        driver.pipe_bytes(key, value, at, topic)
    return driver


def history_first(job: Job, tasks: int, given: Sequence[Raw], cut: int, most: int) -> TestDriver:
    backfilled = Backfilled(job, tasks, [], most)
    put(backfilled.driver, given[:cut])
    backfilled.run()
    put(backfilled.driver, given[cut:])
    return backfilled.go_live([])


@pytest.mark.parametrize("make_job", [statements_job, definition_job], ids=["sql", "ksml"])
@pytest.mark.parametrize("seed", range(4))
def test_random_split_points(make_job: Callable[[], Job], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "show_output", raw_output)
    given, job, draw = drawn(seed), make_job(), random.Random(seed)
    for tasks in (1, 2):
        calm = all_live(job, tasks, given)
        assert {sent.topic for sent in calm.outputs} == set(job.outputs)
        wanted, rows = results(calm, FORWARDED), stores(calm)
        for cut in (0, draw.randrange(1, len(given)), len(given)):
            driver = history_first(job, tasks, given, cut, draw.choice((1, 5, 50)))
            assert results(driver, FORWARDED) == wanted, (tasks, cut)
            assert stores(driver) == rows, (tasks, cut)
