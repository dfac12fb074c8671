"""An hour of records that waited while the job or a worker was down gives the same results as live processing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_service import OwnService, own_service
from own_topics import settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from tests.dsl.rekeyed_join import RESULTS, Record, expected_join, records

BEGIN = 1_735_689_600_000
HOUR = 3_600
AWAY_SECONDS = 8.0
"""A time longer than the validity of a task's announcement."""


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("rekeyed-join", "tests.dsl.rekeyed_join", 4, endpoints, tmp_path) as own:
        yield own


def produce(settings: KafkaSettings, given: list[Record]) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in given:
        producer.produce(topic, value, key, timestamp=at)
        producer.poll(0)
    assert producer.flush(30) == 0


def results(settings: KafkaSettings) -> list[str]:
    return sorted((sent.value() or b"").decode() for part in read_topic(settings, RESULTS).values() for sent in part)


def differences(settings: KafkaSettings, sent: list[Record]) -> list[tuple[str, str]]:
    """Return the pairs of actual and expected results that differ."""
    return [pair for pair in zip(results(settings), expected_join(sent), strict=True) if pair[0] != pair[1]]


def passing(seconds: float) -> Callable[[], bool]:
    """Return a condition that becomes true after some seconds."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


@pytest.mark.timeout(580)
def test_join_after_a_repartition_is_unchanged_by_downtime(
    endpoints: Endpoints, service: OwnService, tmp_path: Path
) -> None:
    settings, command = settings_of(endpoints), [*service.command, "--slots", "2"]
    sent: list[Record] = []

    def more(seconds: int) -> None:
        new = records(BEGIN + 1_000 * len(sent) // 3, seconds)
        produce(settings, new)
        sent.extend(new)

    def is_joined() -> bool:
        return len(results(settings)) == len(expected_join(sent))

    more(10)
    job = JobProcess(command, tmp_path / "job.log", service.environment)
    job.until(is_joined, "the job works")
    job.kill()
    assert differences(settings, sent) == []

    more(HOUR)
    job = JobProcess(command, tmp_path / "job.log", service.environment)
    job.until(is_joined, "what came while the job was down is joined")
    assert differences(settings, sent) == []

    # Workers that run a loop are recognized by the threads of their Kafka clients.
    loops = [worker for worker in job.workers() if worker.num_threads() > 8]
    assert len(loops) == 2, [worker.num_threads() for worker in job.workers()]
    loops[0].suspend()
    job.until(passing(AWAY_SECONDS), "no task relies on the worker any longer")
    more(HOUR)
    job.until(passing(AWAY_SECONDS), "the others have read what they may")
    loops[0].resume()
    job.until(is_joined, "what came while a worker was away is joined")
    assert job.terminate() == 0, job.text()
    assert differences(settings, sent) == []
