"""If a SQL file is edited while its job is down, moved statements keep their state and restored ones resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_topics import settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform

DECLARED = """
CREATE STREAM edited_in (k VARCHAR KEY, a VARCHAR, v INT)
  WITH (KAFKA_TOPIC='edited_in', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM edited_more (k VARCHAR KEY, v INT)
  WITH (KAFKA_TOPIC='edited_more', PARTITIONS=2, VALUE_FORMAT='JSON');
"""
BY_A = "CREATE TABLE edited_by_a AS SELECT a, SUM(v) AS total FROM edited_in GROUP BY a;\n"
BY_V = "CREATE TABLE edited_by_v AS SELECT v, COUNT(*) AS n FROM edited_in GROUP BY v;\n"
MORE = "CREATE TABLE edited_of_more AS SELECT k, SUM(v) AS total FROM edited_more GROUP BY k;\n"
ROWS_OF_MORE = """
CREATE TABLE edited_rows (k VARCHAR PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='edited_more', VALUE_FORMAT='{}');
CREATE TABLE edited_kept WITH (VALUE_FORMAT='JSON') AS SELECT k, v FROM edited_rows;
"""
ROWS = [(key, {"A": "x" if number % 2 else "y", "V": number % 3}) for number, key in enumerate("abcdef")]


def send(settings: KafkaSettings) -> None:
    producer = Producer(settings.producer())
    for key, row in ROWS:
        producer.produce("edited_in", json.dumps(row), key, timestamp=1_000)
        producer.produce("edited_more", json.dumps({"V": row["V"]}), key, timestamp=1_000)
    assert producer.flush(30) == 0


def results(settings: KafkaSettings, topic: str) -> dict[Any, Any]:
    """Return the last value of each key."""
    results = {}
    for messages in read_topic(settings, topic).values():
        for message in messages:
            results[message.key()] = next(iter(json.loads(message.value() or b"{}").values()), None)
    return results


@pytest.mark.timeout(500)
def test_an_edited_file_continues_from_its_state(platform: Platform, tmp_path: Path) -> None:
    endpoints = platform.up()
    settings = settings_of(endpoints)
    file = tmp_path / "edited.sql"
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]

    def run(statements: str) -> JobProcess:
        file.write_text(DECLARED + statements)
        options = ["-f", str(file), "--run", *broker]
        return JobProcess(options, tmp_path / "job.log", {"FOREBAY_HOME": str(tmp_path)}, "sql")

    def wait_for_results(job: JobProcess, times: dict[str, int]) -> None:
        """Wait until each table contains the results of this number of sends."""
        for name, count in times.items():
            wanted = {key: value * count for key, value in ONCE[name].items()}
            job.until(lambda topic=name, rows=wanted: results(settings, topic) == rows, f"{name} is {wanted}")  # type: ignore[misc]

    job = run(BY_A + BY_V + MORE)
    try:
        job.until(lambda: any("starting Spark" in message for message in job.messages()), "its topics are there")
        send(settings)
        wait_for_results(job, {"EDITED_BY_A": 1, "EDITED_BY_V": 1, "EDITED_OF_MORE": 1})
        job.kill()

        job = run(MORE + BY_V)  # the first statement is removed, and the others are in another order
        send(settings)
        wait_for_results(job, {"EDITED_BY_V": 2, "EDITED_OF_MORE": 2})
        assert any("the topology changed" in message for message in job.messages())
        assert job.terminate() == 0

        job = run(BY_V + BY_A)  # one statement is restored, and another is removed with its topic
        send(settings)
        # Records that the topic's other reader processed during this time are not read again.
        wait_for_results(job, {"EDITED_BY_V": 3, "EDITED_BY_A": 2})
        assert any("no longer reads edited_more" in message for message in job.messages())
        job.kill()

        job = run(BY_A.replace("SUM", "MAX") + BY_V)
        assert job.finish() != 0
        assert "store edited-by-a holds rows of group" in job.text()

        job = run(MORE + BY_A + BY_V)
        wait_for_results(job, {"EDITED_BY_V": 3, "EDITED_BY_A": 2, "EDITED_OF_MORE": 3})
        assert job.terminate() == 0

        job = run(ROWS_OF_MORE.format("JSON"))
        send(settings)
        wait_for_results(job, {"EDITED_KEPT": 1})
        job.kill()

        job = run(ROWS_OF_MORE.format("DELIMITED"))
        assert job.finish() != 0
        assert "holds rows of JSON, but is declared with DELIMITED" in job.text()
    finally:
        job.kill()


ONCE: dict[str, dict[Any, int]] = {
    "EDITED_BY_A": {b"x": 3, b"y": 3},
    "EDITED_BY_V": {value.to_bytes(4, "big"): 2 for value in range(3)},
    "EDITED_OF_MORE": {key.encode(): number % 3 for number, (key, _) in enumerate(ROWS)},
    "EDITED_KEPT": {key.encode(): number % 3 for number, (key, _) in enumerate(ROWS)},
}
"""Results if the rows are sent once. All results are proportional to the number of sends."""
