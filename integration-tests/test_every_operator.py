"""Every DSL operator gives the same results on Spark, with three tasks and killed workers, as in the test driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_service import OwnService, own_service
from own_topics import settings_of
from topic_reading import PositionWatch, read_topic

from forebay.formats import key_writer
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.testing import TestDriver
from tests.dsl.every_operator import JOB, TASKS, records

RECORDS = 600
UNORDERED = {"by-letter", "by-part", "by-length"}
"""Outputs whose keys change without a repartition, so that several tasks write records of the same key."""
Sent = dict[tuple[str, bytes | None], list[Any]]


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    single = ("any-towns",)
    with own_service("every-operator", "tests.dsl.every_operator", TASKS, endpoints, tmp_path, single) as own:
        yield own


def produce(settings: KafkaSettings, driver: TestDriver) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in records(RECORDS):
        (sub_topology, *_) = (
            sub_topology for sub_topology in driver.sub_topologies if topic in sub_topology.definition.inputs
        )
        data = None if value is None else sub_topology.codecs.inputs[topic].encode(value)
        producer.produce(topic, data, key, timestamp=at)
    assert producer.flush(30) == 0


def expected_records(driver: TestDriver) -> Sent:
    for topic, key, value, at in records(RECORDS):
        driver.pipe(key, value, topic, at)
    assert driver.errors == []
    results: Sent = defaultdict(list)
    for sent in driver.outputs:
        kind, codecs = JOB.format_of(sent.topic), driver.sub_topologies[0].codecs
        key_data = None if sent.key is None else key_writer(kind.key)(kind.key.row(sent.key))  # type: ignore[misc]
        value = None if sent.value is None else codecs.outputs[sent.topic].encode(sent.value)
        results[sent.topic, key_data].append((value, sent.timestamp, sent.headers))
    return results


def committed_records(settings: KafkaSettings) -> Sent:
    results: Sent = defaultdict(list)
    for topic in JOB.outputs:
        for messages in read_topic(settings, topic).values():
            for sent in messages:
                results[topic, sent.key()].append((sent.value(), sent.timestamp()[1], tuple(sent.headers() or ())))
    return results


def differences(found: Sent, wanted: Sent) -> list[str]:
    """Return a line for each topic and key whose records differ. Keys written by several tasks have no fixed order."""
    lines = []
    for place in sorted(found.keys() | wanted.keys(), key=str):
        got, due = found.get(place, []), wanted.get(place, [])
        if place[0] in UNORDERED:
            got, due = sorted(got, key=str), sorted(due, key=str)
        if got != due:
            at = next((n for n, pair in enumerate(zip(got, due, strict=False)) if pair[0] != pair[1]), -1)
            lines.append(f"{place}: {len(got)} of {len(due)}, from {at}: {got[at : at + 3]}, not {due[at : at + 3]}")
    return lines


@pytest.mark.timeout(580)
def test_killed_job_gives_the_results_of_the_test_driver(
    endpoints: Endpoints, service: OwnService, tmp_path: Path
) -> None:
    settings, driver = settings_of(endpoints), TestDriver(JOB, tasks=TASKS)
    produce(settings, driver)
    command = [*service.command, "--max-records-per-commit", "30", "--trigger", "available-now"]
    positions = PositionWatch(settings, [(f"{service.name}-0-task", task) for task in range(TASKS)])
    job = JobProcess(command, tmp_path / "job.log", service.environment)
    job.until(lambda: positions.commits() >= 4, "the first commits are through")
    before = positions.commits()
    workers = job.workers()
    assert workers
    for worker in workers:
        worker.kill()
    wanted = expected_records(driver)
    assert job.finish() == 0, job.text()
    assert positions.commits() > before, "it was killed after its end"
    positions.close()
    result = committed_records(settings)
    assert differences(result, wanted) == []
