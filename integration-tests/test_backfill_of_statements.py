"""SQL and KSML services on a real broker: a backfill followed by the job writes the same bytes as the test driver."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import PYTHON_PATH, JobProcess
from own_jvm import own_jvm
from own_topics import settings_of
from pyspark.sql import SparkSession
from topic_reading import read_topic

import forebay.spark
from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.testing import driver as driver_module
from tests.dsl.statement_texts import INPUTS, KSML, SQL, Raw, drawn
from tests.dsl.test_backfill_of_statements import all_live, definition_job, statements_job
from tests.sql.driven import raw_output

Row = tuple[bytes | None, bytes | None, int]
TASKS, CUT = 4, 50
TABLES = ("history_sql_counts", "history_sql_windows")
"""Topics to which a commit writes only the last row of each key."""
JOBS = {"statements": statements_job, "definition": definition_job}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Set the environment variables that name both files, as in docs/sql.md and docs/ksml.md."""
    (tmp_path / "statements.sql").write_text(SQL)
    (tmp_path / "definition.yaml").write_text(KSML)
    variables = {
        "FOREBAY_SERVICES": "forebay.sql.service,forebay.ksml.mounted",
        "FOREBAY_SQL": str(tmp_path / "statements.sql"),
        "FOREBAY_KSML": str(tmp_path / "definition.yaml"),
        "PYTHONPATH": PYTHON_PATH,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, text in variables.items():
            patch.setenv(name, text)
        yield variables


@pytest.fixture
def spark(environment: dict[str, str]) -> Iterator[SparkSession]:
    with own_jvm(environment):
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        # Compiling the plans would take longer than processing these few rows without.
        builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        session = builder.getOrCreate()
        yield session
        session.stop()


def produce(settings: KafkaSettings, given: Sequence[Raw]) -> None:
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for topic, key, value, at in given:
        producer.produce(topic, value, key, timestamp=at)
    assert producer.flush(30) == 0


def last_of_keys(rows: list[Row]) -> list[Row]:
    return list({row[0]: row for row in rows}.values())


@pytest.mark.timeout(300)
def test_a_sql_file_and_a_definition(
    endpoints: Endpoints, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_module, "show_output", raw_output)
    settings, given = settings_of(endpoints), drawn(7)
    connection = [
        *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
        *("--home", str(tmp_path / "home")),
    ]
    options = {"bootstrapServers": endpoints.bootstrap_servers, "schemaRegistryUrl": endpoints.registry_url}
    frames = {
        topic: spark.createDataFrame(
            [(key, value, at) for name, key, value, at in given[:CUT] if name == topic],
            "key binary, value binary, timestamp bigint",
        )
        for topic in INPUTS
    }
    for name in JOBS:
        assert run(["topics", "create", name, *connection]) == 0
        result = forebay.spark.backfill(spark, name, frames, options=options)
        assert (result.records, result.errors) == (CUT, 0)
    produce(settings, given[CUT:])
    arguments = [*connection, "--trigger", "available-now"]
    live = [JobProcess([name, *arguments], tmp_path / f"{name}.log", dict(os.environ)) for name in JOBS]
    for job in live:
        assert job.finish() == 0, job.text()
    for name, make_job in JOBS.items():
        calm = all_live(make_job(), TASKS, given)
        for topic in calm._job.outputs:
            wanted = [(sent.key, sent.value, sent.timestamp) for sent in calm.outputs if sent.topic == topic]
            messages = [message for part in read_topic(settings, topic).values() for message in part]
            sent = [(message.key(), message.value(), message.timestamp()[1]) for message in messages]
            if topic in TABLES:
                sent, wanted = last_of_keys(sent), last_of_keys(wanted)
            assert wanted
            assert sorted(sent, key=repr) == sorted(wanted, key=repr), (name, topic)
    topics = {topic.name for name in JOBS for topic in find_service(name).topics(name, TASKS)}
    TopicAdmin(settings).delete(sorted(topics))


READINGS = """
CREATE STREAM readings (sensor VARCHAR KEY, reading DOUBLE)
  WITH (KAFKA_TOPIC='history_readings', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE sums WITH (KAFKA_TOPIC='history_sums') AS
  SELECT sensor, SUM(reading) AS total FROM readings GROUP BY sensor EMIT CHANGES;
"""


@pytest.mark.timeout(300)
def test_backfill_command_accepts_a_file_with_plain_json_columns(endpoints: Endpoints, tmp_path: Path) -> None:
    settings, file, history = settings_of(endpoints), tmp_path / "sums.sql", tmp_path / "history"
    file.write_text(READINGS)
    history.mkdir()
    rows = [{"timestamp": number, "key": f"s{number % 2}", "reading": float(number)} for number in range(10)]
    (history / "part.json").write_text("\n".join(json.dumps(row) for row in rows))
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    arguments = ["-f", str(file), *broker, "--home", str(tmp_path / "home")]
    environment = {"PYTHONPATH": PYTHON_PATH}
    sources = ["--backfill", "--from", f"json:{history}"]
    backfill = JobProcess([*arguments, *sources], tmp_path / "backfill.log", environment, "sql")
    assert backfill.finish() == 0, backfill.text()
    produce(settings, [("history_readings", b"s0", b'{"READING": 100.0}', 20)])
    job = JobProcess([*arguments, "--run", "--trigger", "available-now"], tmp_path / "job.log", environment, "sql")
    assert job.finish() == 0, job.text()
    messages = [message for part in read_topic(settings, "history_sums").values() for message in part]
    last = {message.key(): json.loads(message.value() or b"") for message in messages}
    assert last == {b"s0": {"TOTAL": 120.0}, b"s1": {"TOTAL": 25.0}}
