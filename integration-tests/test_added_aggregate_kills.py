"""A job that is killed while added statements get the rows of their table continues where it was."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_topics import settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform

ROWS = 120_000
GROUPS = 7
TABLE = """
CREATE TABLE filled_rows (k VARCHAR PRIMARY KEY, g INT, v BIGINT)
  WITH (KAFKA_TOPIC='filled_in', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE filled_copy WITH (VALUE_FORMAT='JSON') AS SELECT k, v FROM filled_rows WHERE v < 0;
"""
ADDED = """
CREATE TABLE filled_sums AS SELECT g, SUM(v) AS total, COUNT(*) AS n FROM filled_rows GROUP BY g;
CREATE TABLE filled_pairs AS SELECT k, g, v FROM filled_rows WHERE v % 2 = 0;
"""
KILLS = 4


def send(settings: KafkaSettings, numbers: range, group_of: int = 0) -> None:
    producer = Producer(settings.producer(**{"linger.ms": 50}))
    for number in numbers:
        row = {"G": (number + group_of) % GROUPS, "V": number}
        while True:
            try:
                producer.produce("filled_in", json.dumps(row), f"k{number}", timestamp=1_000)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def sums(settings: KafkaSettings) -> dict[bytes, tuple[int, int]]:
    """Return the last total and number of rows of each group."""
    result = {}
    for messages in read_topic(settings, "FILLED_SUMS").values():
        for message in messages:
            row = json.loads(message.value() or b"{}")
            result[message.key() or b""] = row["TOTAL"], row["N"]
    return result


def pairs(settings: KafkaSettings) -> list[tuple[bytes, dict[str, int]]]:
    """Return the keys and rows of the topic of the copy."""
    return [
        (message.key() or b"", json.loads(message.value() or b"{}"))
        for messages in read_topic(settings, "FILLED_PAIRS").values()
        for message in messages
    ]


def gets_rows(job: JobProcess) -> bool:
    return any(" gets the " in message for message in job.messages())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_kill_while_rows_are_sent_changes_no_result(platform: Platform, tmp_path: Path) -> None:
    endpoints = platform.up()
    settings = settings_of(endpoints)
    file = tmp_path / "filled.sql"
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]

    def run(statements: str) -> JobProcess:
        file.write_text(statements)
        return JobProcess(
            ["-f", str(file), "--run", *broker], tmp_path / "job.log", {"FOREBAY_HOME": str(tmp_path)}, "sql"
        )

    job = run(TABLE)
    try:
        job.until(lambda: any("starting Spark" in message for message in job.messages()), "its topics are there")
        send(settings, range(ROWS))
        job.until(lambda: job.records_in() >= ROWS, "all rows are stored")
        for number in range(KILLS):
            job.kill()
            job = run(TABLE + ADDED)
            job.until(partial(gets_rows, job), "an added statement gets rows")
            send(settings, range(number, ROWS, 1_000), group_of=number + 1)
            # At different points, some of them before the first commit.
            time.sleep(0.5 * number)
        job.kill()
        moved = {number: (number % 1_000) + 1 for number in range(ROWS) if number % 1_000 < KILLS}
        wanted: dict[bytes, tuple[int, int]] = {}
        for number in range(ROWS):
            group = ((number + moved.get(number, 0)) % GROUPS).to_bytes(4, "big")
            total, count = wanted.get(group, (0, 0))
            wanted[group] = total + number, count + 1
        rows = {
            f"k{number}".encode(): {"G": (number + moved.get(number, 0)) % GROUPS, "V": number}
            for number in range(0, ROWS, 2)
        }
        job = run(TABLE + ADDED)
        job.until(lambda: sums(settings) == wanted, "the sums are right")
        job.until(lambda: dict(pairs(settings)) == rows, "the rows are right")
        assert job.terminate() == 0
        # A row that was sent before its change is written once more.
        assert len(pairs(settings)) <= len(rows) + len(moved)
    finally:
        job.kill()
