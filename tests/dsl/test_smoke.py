"""Kafka Streams' smoke test on the test driver: each of its outputs has the expected values."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import Any

import pytest

from forebay.partitioner import partition_of
from forebay.testing import TestDriver
from tests.dsl import smoke


@pytest.mark.long
def test_all_outputs_have_the_expected_values() -> None:
    driver, sent = TestDriver(smoke.JOB, tasks=smoke.TASKS), list(islice(smoke.records(), 900))
    closing = {partition_of(key.encode(), smoke.TASKS): key for key in map(str, range(50))}
    for key, value, at in [*sent, *smoke.flush(closing.values())]:
        driver.pipe(key, value, smoke.DATA, at)
    outputs: dict[str, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for output in driver.outputs:
        outputs[output.topic][smoke.plain(output.key)].append(output.value)
    assert driver.errors == []
    assert driver.late == []
    smoke.check(outputs, sent, set(closing.values()))
