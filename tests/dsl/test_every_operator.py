"""The results of every operator are the same with one task, three tasks, and three tasks with restarts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from forebay.testing import TestDriver
from tests.dsl.every_operator import JOB, TASKS, records

pytestmark = pytest.mark.long

Sent = dict[tuple[str, str], list[Any]]


def outputs(tasks: int, restart_every: int = 0) -> Sent:
    driver = TestDriver(JOB, tasks=tasks)
    for number, (topic, key, value, at) in enumerate(records(300)):
        driver.pipe(key, value, topic, at)
        if restart_every and number % restart_every == 0:
            driver.restart()
    assert driver.errors == []
    outputs: Sent = defaultdict(list)
    for sent in driver.outputs:
        outputs[sent.topic, str(sent.key)].append((sent.value, sent.timestamp, sent.headers))
    return outputs


def test_every_operator_sends_something_and_resumes_from_its_stores() -> None:
    calm = outputs(TASKS)
    assert {topic for topic, _ in calm} == set(JOB.outputs)
    assert outputs(TASKS, restart_every=7) == calm


def test_stores_without_a_task_time_are_the_same_in_one_task() -> None:
    timeless = {"letters", "odd", "even", "before", "new", "counts", "largest", "cogrouped", "in-town", "rekeyed-join"}
    timeless |= {"joined-tables", "by-foreign-key", "low", "highest", "grouped"}
    timeless |= {"by-letter", "by-part", "by-length", "last-of-length", "in-two", "ever", "joined-thrice", "reduced"}
    one, three = ({place: sent for place, sent in outputs(n).items() if place[0] in timeless} for n in (1, TASKS))
    assert one == three
