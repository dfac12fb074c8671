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
OF_ROWS = "CREATE TABLE added_counts AS SELECT v, COUNT(*) AS n FROM edited_rows GROUP BY v;\n"
ROWS = [(key, {"A": "x" if number % 2 else "y", "V": number % 3}) for number, key in enumerate("abcdef")]


def send(settings: KafkaSettings, *topics: str) -> None:
    producer = Producer(settings.producer())
    for key, row in ROWS:
        for topic in topics or ("edited_in", "edited_more"):
            producer.produce(topic, json.dumps(row), key, timestamp=1_000)
    assert producer.flush(30) == 0


def results(settings: KafkaSettings, topic: str) -> dict[Any, Any]:
    """Return the last value of each key."""
    results = {}
    for messages in read_topic(settings, topic).values():
        for message in messages:
            results[message.key()] = next(iter(json.loads(message.value() or b"{}").values()), None)
    return results


class EditedFile:
    """The job of a file that is edited while the job is down."""

    def __init__(self, platform: Platform, file: Path) -> None:
        endpoints = platform.up()
        self._file = file
        self.settings = settings_of(endpoints)
        self._broker = ["--bootstrap-servers", endpoints.bootstrap_servers]
        self._broker += ["--schema-registry-url", endpoints.registry_url]

    def run(self, statements: str) -> JobProcess:
        self._file.write_text(DECLARED + statements)
        folder = self._file.parent
        options = ["-f", str(self._file), "--run", *self._broker]
        return JobProcess(options, folder / "job.log", {"FOREBAY_HOME": str(folder)}, "sql")

    def wait_for_results(self, job: JobProcess, times: dict[str, int]) -> None:
        """Wait until each table contains the results of this number of sends."""
        for name, count in times.items():
            wanted = {key: value * count for key, value in ONCE[name].items()}
            job.until(
                lambda topic=name, rows=wanted: results(self.settings, topic) == rows,  # type: ignore[misc]
                f"{name} is {wanted}",
            )


@pytest.mark.timeout(400)
def test_aggregate_added_to_a_table_contains_its_existing_rows(platform: Platform, tmp_path: Path) -> None:
    file = EditedFile(platform, tmp_path / "added.sql")
    table = ROWS_OF_MORE.format("JSON").replace("edited_more", "added_rows").replace("edited_kept", "added_kept")
    job = file.run(table)
    try:
        job.until(lambda: any("starting Spark" in message for message in job.messages()), "its topics are there")
        send(file.settings, "added_rows")
        file.wait_for_results(job, {"ADDED_KEPT": 1})
        job.kill()

        job = file.run(table + OF_ROWS)
        file.wait_for_results(job, {"ADDED_COUNTS": 1})
        assert any("store added-counts is new: it first gets the rows" in message for message in job.messages())
        job.kill()

        job = file.run(table)
        send(file.settings, "added_rows")
        job.until_commits()
        job.kill()

        job = file.run(table + OF_ROWS)
        assert job.finish() != 0
        assert "store added-counts: the table edited-rows-table has changed while the topology" in job.text()
    finally:
        job.kill()


@pytest.mark.timeout(500)
def test_an_edited_file_continues_from_its_state(platform: Platform, tmp_path: Path) -> None:
    file = EditedFile(platform, tmp_path / "edited.sql")
    run, wait_for_results, settings = file.run, file.wait_for_results, file.settings
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
    "ADDED_COUNTS": {value.to_bytes(4, "big"): 2 for value in range(3)},
    "ADDED_KEPT": {key.encode(): number % 3 for number, (key, _) in enumerate(ROWS)},
    "EDITED_KEPT": {key.encode(): number % 3 for number, (key, _) in enumerate(ROWS)},
}
"""Results if the rows are sent once. All results are proportional to the number of sends."""
