"""Topics are created with the properties of the WITH clause."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.catalog import Topic
from forebay.kafka.topics import spec_of
from forebay.sql.service import job_of, service_of, statements_of

STATEMENTS = """
SET 'ksql.output.topic.name.prefix' = 'mine.';
CREATE STREAM s (id BIGINT KEY, n INT)
  WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS='6', REPLICAS=3, RETENTION_MS=60000);
CREATE STREAM kept WITH (RETENTION_MS=-1, PARTITIONS=2) AS SELECT id, n FROM s;
CREATE TABLE counts AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;
CREATE TABLE hourly WITH (RETENTION_MS=7200000) AS
  SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
"""


@pytest.fixture
def topics(tmp_path: Path) -> dict[str, Topic]:
    file = tmp_path / "counts.sql"
    file.write_text(STATEMENTS)
    statements = statements_of(file)
    service = service_of(file, statements, job_of(statements))
    return {topic.name: topic for topic in (*service.inputs, *service.outputs)}


def test_partitions_are_those_of_the_topic_for_every_source_of_its_name(topics: dict[str, Topic]) -> None:
    assert {name: topic.partitions for name, topic in topics.items()} == {
        "in": 6,
        "mine.KEPT": 2,
        "mine.COUNTS": 6,
        "mine.HOURLY": 6,
    }


def test_replication_factor_is_the_broker_default_unless_declared(
    topics: dict[str, Topic],
) -> None:
    assert [spec_of(topics[name]).replication_factor for name in ("in", "mine.KEPT")] == [3, -1]
    assert spec_of(topics["in"], 2).replication_factor == 2


def test_topic_retention_is_the_declared_one(topics: dict[str, Topic]) -> None:
    results = {name: topic.config.get("retention.ms") for name, topic in topics.items()}
    assert results == {"in": "60000", "mine.KEPT": "-1", "mine.COUNTS": None, "mine.HOURLY": "7200000"}


def test_windows_of_a_table_expire_only_with_declared_retention(topics: dict[str, Topic]) -> None:
    policies = [topics[name].config["cleanup.policy"] for name in ("mine.COUNTS", "mine.HOURLY")]
    assert policies == ["compact", "compact,delete"]
