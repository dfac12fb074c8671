"""Kafka Streams' relational smoke test on the test driver: both joins have the expected rows."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

import pytest

from forebay.testing import TestDriver
from tests.dsl import relational


@pytest.mark.long
def test_both_joins_have_the_expected_rows() -> None:
    driver, sent = TestDriver(relational.JOB, tasks=relational.TASKS), list(islice(relational.records(), 1_500))
    for topic, key, value, at in sent:
        driver.pipe(key, value, topic, at)
    changes = defaultdict(list)
    for output in driver.outputs:
        changes[output.topic].append((output.key, output.value))
    assert driver.errors == []
    wanted = relational.expected_rows(sent)
    assert all(wanted.values())
    assert relational.last_rows(changes) == wanted
