"""Records that arrive while a job is down have the same results as if it had processed them live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from forebay.job import Job
from forebay.testing import TestDriver
from tests.dsl import every_operator, rekeyed_join
from tests.dsl.random_topologies import drawn_job, drawn_records
from tests.ksml.running import driver as ksml
from tests.sql.driven import Driven as Statements

Record = tuple[str, Any, Any, int]
Sent = dict[tuple[str, str], list[str]]


def results(driver: TestDriver, unordered: Sequence[str] = ()) -> Sent:
    """Return the outputs by topic and key. Those of `unordered` topics, which several tasks write, are sorted."""
    assert driver.errors == []
    results: Sent = defaultdict(list)
    for sent in driver.outputs:
        results[sent.topic, str(sent.key)].append(f"{sent.value!r} {sent.timestamp} {sent.headers}")
    return {place: sorted(sent) if place[0] in unordered else sent for place, sent in results.items()}


def live(job: Job, tasks: int, given: Sequence[Record]) -> TestDriver:
    driver = TestDriver(job, tasks=tasks)
    for topic, key, value, at in given:
        driver.pipe(key, value, topic, at)
    return driver


def after_a_downtime(job: Job, tasks: int, given: Sequence[Record], cut: int) -> TestDriver:
    driver = live(job, tasks, given[:cut])
    driver.restart(given[cut:])
    return driver


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("cut", [0, 1, 60])
def test_rekeyed_stream_joins_the_rows_as_of_its_timestamp_after_downtime(tasks: int, cut: int) -> None:
    given = rekeyed_join.records(1_000, 60)
    driver = after_a_downtime(rekeyed_join.JOB, tasks, given, cut)
    assert sorted(sent.value for sent in driver.outputs) == rekeyed_join.expected_join(given)


@pytest.mark.parametrize("tasks", [1, 3])
def test_rekeyed_stream_joins_the_rows_as_of_its_timestamp_in_a_burst(tasks: int) -> None:
    given = rekeyed_join.records(1_000, 60)
    driver = TestDriver(rekeyed_join.JOB, tasks=tasks)
    driver.pipe_all(given)
    assert sorted(sent.value for sent in driver.outputs) == rekeyed_join.expected_join(given)


@pytest.mark.parametrize("tasks", [1, 2])
def test_statements(tasks: int) -> None:
    sql = """
        CREATE TABLE prices (product STRING PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='prices', VALUE_FORMAT='JSON');
        CREATE STREAM clicks (u STRING KEY, product STRING, at INT) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON');
        CREATE STREAM out AS
            SELECT c.product AS product, at, price FROM clicks c JOIN prices p ON c.product = p.product;
    """
    waited = Statements(sql, tasks).driver
    for at in range(1, 200):
        topic, key = ("prices", b"p") if at % 2 else ("clicks", b"u%d" % (at % 5))
        value = b'{"PRICE": %d}' % at if at % 2 else b'{"PRODUCT": "p", "AT": %d}' % at
        if at < 9:
            waited.pipe_bytes(key, value, at, topic)
        else:
            waited._put(topic, key, value, at, None)
    waited.restart()
    assert waited.errors == []
    values = [sent.value for sent in waited.outputs]
    assert sorted(values) == [(at, at - 1) for at in range(2, 200, 2)]


def test_ksml() -> None:
    run = ksml(
        """
        streams:
          clicks: {topic: clicks, keyType: string, valueType: long}
          results: {topic: results, keyType: string, valueType: json}
        tables:
          prices: {topic: prices, keyType: string, valueType: long, store: {name: prices, type: keyValue}}
        functions:
          both: {type: valueJoiner, code: 'return [value1, value2]', resultType: json}
        pipelines:
          main:
            from: clicks
            via:
              - {type: selectKey, mapper: {expression: "'p'", resultType: string}}
              - {type: join, table: prices, valueJoiner: both}
            to: results
        """
    )
    driver = run.driver
    for at in range(1, 9):
        driver.pipe("p" if at % 2 else "u", at, "prices" if at % 2 else "clicks", at)
    topics = [("prices", "p") if at % 2 else ("clicks", f"u{at % 5}") for at in range(9, 200)]
    driver.restart([(topic, key, at, at) for at, (topic, key) in enumerate(topics, 9)])
    assert driver.errors == []
    assert [list(sent.value) for sent in driver.outputs] == [[at, at - 1] for at in range(2, 200, 2)]


@pytest.mark.long
@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_every_operator(tasks: int) -> None:
    given, job = every_operator.records(200), every_operator.JOB
    unordered = ("by-letter", "by-part", "by-length")
    wanted = results(live(job, tasks, given), unordered)
    for cut in (9, 90):
        assert results(after_a_downtime(job, tasks, given, cut), unordered) == wanted


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_random_topologies(seed: int) -> None:
    given, job = drawn_records(seed, 120), drawn_job(seed)
    for tasks in (1, 2, 3):
        calm = live(job, tasks, given)
        topics = {sent.topic for sent in calm.outputs}
        for cut in (0, 40):
            waited = after_a_downtime(job, tasks, given, cut)
            assert results(waited, tuple(topics)) == results(calm, tuple(topics)), (tasks, cut)
