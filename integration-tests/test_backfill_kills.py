"""A backfill that is killed repeatedly, and the job that continues from it, neither lose nor duplicate records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_service import OwnService, own_service
from own_topics import settings_of

from forebay.catalog import find_service
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.tail import Beginning, Tail
from forebay.platform import Endpoints
from forebay.runtime.positions import committed_positions
from tests.dsl.rekeyed_join import CLICKS, PRICES, RESULTS, Record, expected_join, records

TASKS, SECONDS, KILLS = 3, 1_500, 2


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("killed-backfill", "tests.dsl.rekeyed_join", TASKS, endpoints, tmp_path) as own:
        yield own


def produce(settings: KafkaSettings, given: Sequence[Record]) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in given:
        producer.produce(topic, value, key, timestamp=at)
    assert producer.flush(30) == 0


def read_results(settings: KafkaSettings) -> list[str]:
    with Tail(settings, RESULTS) as tail:
        return [(message.value() or b"").decode() for message in tail.read(Beginning(), follow=False)]


@pytest.mark.timeout(1_200)
def test_killed_backfill_loses_and_duplicates_nothing(
    endpoints: Endpoints, service: OwnService, tmp_path: Path
) -> None:
    settings, entry = settings_of(endpoints), find_service(service.name)
    given = records(1_000_000, SECONDS)
    cut = len(given) * 4 // 5
    produce(settings, given[:cut])
    sources = ["--from", f"{CLICKS}=topic", "--from", f"{PRICES}=topic"]
    command = [*service.command, *sources, "--slots", "2", "--max-records-per-commit", "60"]

    def start(log: str) -> JobProcess:
        return JobProcess(command, tmp_path / log, service.environment, "backfill")

    def commits() -> int:
        return sum(position.n for position in committed_positions(settings, entry, service.name, TASKS).values())

    for kill in range(KILLS):
        before = commits()
        backfill = start(f"killed-{kill}.log")
        backfill.until(lambda before=before: commits() > before + 4, "it has committed a part")  # type: ignore[misc]
        backfill.kill()
    early = JobProcess([*service.command], tmp_path / "early.log", service.environment)
    assert early.finish() != 0
    assert "a backfill is not complete" in early.text()
    last = start("last.log")
    assert last.finish(600) == 0, last.text()
    assert sorted(read_results(settings)) == expected_join(given[:cut])
    produce(settings, given[cut:])
    job = JobProcess([*service.command, "--trigger", "available-now"], tmp_path / "job.log", service.environment)
    assert job.finish(600) == 0, job.text()
    assert sorted(read_results(settings)) == expected_join(given)
