"""No kind of poisonous record ends or blocks a job in SQL, KSML or the DSL on a real broker."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_topics import settings_of
from topic_reading import headers_of, read_topic

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.limits.topics import MAX_BYTES
from forebay.platform import Endpoints
from tests.poisoned_jobs import JOBS, KSML, SQL, good_value
from tests.poisons import PLAIN, PLAIN_KEYS

Poison = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]
POISONS: dict[str, Poison] = {
    **{name: (b"k", value, headers) for name, (value, headers) in PLAIN.items()},
    **{name: (key, b'{"K": "a", "N": 1, "T": "x"}', []) for name, key in PLAIN_KEYS.items()},
}
GOOD = len(POISONS) + 1
SECONDS = 150


def command_of(kind: str, folder: Path) -> tuple[str, list[str], str]:
    """Return the command that runs a job, its arguments, and the application id."""
    if kind == "SQL":
        (folder / "poison.sql").write_text(SQL)
        return "sql", ["-f", str(folder / "poison.sql"), "--run", "--application", "poison-sql"], "poison-sql"
    if kind == "KSML":
        (folder / "poison.yaml").write_text(KSML)
        return "ksml", ["run", str(folder / "poison.yaml"), "--application", "poison-ksml"], "poison-ksml"
    return "run", ["poison-dsl", "--create-topics"], "poison-dsl"


def send(settings: KafkaSettings, topic: str) -> dict[tuple[int, int], str]:
    """Send a good record before and after each poisonous one. Return the latter's names by partition and offset."""
    producer = Producer(settings.producer(**{"message.max.bytes": 2_000_000}))
    places: dict[tuple[int, int], str] = {}

    def note(name: str, error: object, partition: int, offset: int) -> None:
        assert error is None, f"{name}: {error}"
        if name:
            places[partition, offset] = name

    def produce(
        name: str, number: int, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
    ) -> None:
        producer.produce(
            topic, value, key, number % 2, headers=headers,  # type: ignore[arg-type]
            on_delivery=lambda error, message: note(name, error, message.partition() or 0, message.offset() or 0),
        )  # fmt: skip

    produce("", 1, b"k", good_value(1), [])
    for number, (name, (key, value, headers)) in enumerate(POISONS.items(), 2):
        produce(name, number, key, value, headers)
        produce("", number, b"k", good_value(number), [])
    assert producer.flush(30) == 0
    return places


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("kind", JOBS)
def test_records_around_poison_records_are_processed(kind: str, endpoints: Endpoints, tmp_path: Path) -> None:
    settings, job = settings_of(endpoints), JOBS[kind]
    command, arguments, application = command_of(kind, tmp_path)
    TopicAdmin(settings).create([TopicSpec(job.topic, 2, {MAX_BYTES: "2000000"})])
    places = send(settings, job.topic)
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    arguments += [*broker, "--checkpoint", str(tmp_path / "checkpoint"), "--trigger", "available-now"]
    arguments += ["--tasks", "2", "--max-error-rate", "1"]
    environment = {"FOREBAY_SERVICES": "tests.poisoned_jobs", "FOREBAY_HOME": str(tmp_path)}
    process = JobProcess(arguments, tmp_path / "job.log", {**os.environ, **environment}, command)
    try:
        assert process.finish(SECONDS) == 0, process.text()
    finally:
        process.kill()

    records = [message for messages in read_topic(settings, job.output).values() for message in messages]
    results = [(record.key() or b"", value) for record in records if (value := record.value())]
    assert job.numbers(results) == list(range(1, GOOD + 1))
    reports = Counter(
        places.get((int(headers["error.partition"] or -1), int(headers["error.offset"] or -1)), "no poison")
        if headers["error.topic"] == job.topic.encode()
        else "behind the repartition"
        for messages in read_topic(settings, f"{application}.errors").values()
        for message in messages
        if (headers := dict(headers_of(message)))["error.message"]
    )
    assert reports["no poison"] == 0
    assert max(reports[name] for name in POISONS) == 1
    assert reports["rubbish"] == reports["no bytes"] == reports["a result of 3 MB"] == 1
