"""A job with a class for PySpark's transformWithState is killed and restarted. Each visit and timer counts once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_service import OwnService, own_service
from own_topics import settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints, Platform
from tests.docs import walkthrough
from tests.stateful.page_service import COMMANDS, write_service

USERS = [f"user-{number}" for number in range(8)]
EARLIER = 100
"""Number of earlier visits of the first two users, in the initial state."""
ROUNDS = 6


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("visits-example", "tests.stateful.example", 4, endpoints, tmp_path) as own:
        yield own


def produce(settings: KafkaSettings, topic: str, rows: list[dict[str, Any]]) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for number, row in enumerate(rows):
        producer.produce(topic, json.dumps(row), f"key-{number}")
    assert producer.flush(30) == 0


def seen(settings: KafkaSettings) -> dict[str, list[dict[str, Any]]]:
    """Return the committed outputs by user, in the order of the visits."""
    by_user = defaultdict(list)
    for messages in read_topic(settings, "example_seen").values():
        for message in messages:
            row = json.loads(message.value() or b"")
            by_user[row["user"]].append(row)
    return by_user


def visits(begin: int) -> list[dict[str, Any]]:
    return [{"user": user, "page": f"page-{begin % 3}"} for user in USERS]


@pytest.mark.timeout(400)
def test_a_kill_loses_and_repeats_nothing(endpoints: Endpoints, service: OwnService, tmp_path: Path) -> None:
    settings, command = settings_of(endpoints), [*service.command, "--slots", "2"]
    produce(settings, "example_known", [{"user": user, "earlier": EARLIER} for user in USERS[:2]])

    def until(job: JobProcess, rounds: int) -> None:
        wanted = len(USERS) * (rounds + 1)
        job.until(
            lambda: sum(map(len, seen(settings).values())) >= wanted, f"{rounds} rounds and the reminders are out"
        )

    produce(settings, "example_visits", visits(0))
    job = JobProcess(command, tmp_path / "job.log", service.environment)
    until(job, 1)
    for number in range(1, ROUNDS // 2):
        produce(settings, "example_visits", visits(number))
    job.kill()
    for number in range(ROUNDS // 2, ROUNDS):
        produce(settings, "example_visits", visits(number))
    job = JobProcess(command, tmp_path / "job.log", service.environment)
    until(job, ROUNDS)
    assert job.terminate() == 0, job.text()
    assert not any(read_topic(settings, f"{service.name}.errors").values())
    for user, rows in seen(settings).items():
        before = EARLIER if user in USERS[:2] else 0
        numbers = [row["visits"] - before for row in rows if not row["is_reminder"]]
        assert sorted(numbers) == list(range(1, ROUNDS + 1)), user
        assert sum(row["is_reminder"] for row in rows) == 1, user
        (last,) = [row for row in rows if row["visits"] - before == ROUNDS and not row["is_reminder"]]
        assert sorted(last["pages"].split()) == sorted(f"page-{number % 3}" for number in range(ROUNDS)), user


@pytest.mark.timeout(420)
def test_the_commands_of_the_page_run_its_service(platform: Platform, tmp_path: Path) -> None:
    platform.up()
    write_service(tmp_path)
    done = walkthrough.shell(tmp_path, COMMANDS, FOREBAY_HOME=str(platform.home))
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [json.loads(line)["value"] for line in done.stdout.splitlines() if line.startswith("{")]
    results = [(value["user"], value["visits"], value["away"]) for value in printed]
    assert results == [("ada", 1, False), ("ada", 1, True), ("ada", 1, False)]
