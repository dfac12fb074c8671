"""The topics that an engine creates for declarations are accepted by its job."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from forebay.catalog import COMPACTION_LAG, MAX_DOWNTIME_MS
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.live import topics
from forebay.sql.program import program_of

KAFKA = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081")


class Broker:
    created: tuple[TopicSpec, ...] = ()

    def __init__(self, _settings: KafkaSettings) -> None: ...

    def create(self, specs: Iterable[TopicSpec]) -> None:
        Broker.created = tuple(specs)


def test_the_topic_of_a_table_keeps_all_records_for_the_longest_downtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "TopicAdmin", Broker)
    statements = (
        "CREATE TABLE t (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', PARTITIONS=2, VALUE_FORMAT='JSON');"
        "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=2, VALUE_FORMAT='JSON');"
        "CREATE TABLE u AS SELECT n, COUNT(*) AS c FROM t GROUP BY n;"
    )
    topics.create_declared(KAFKA, program_of(statements, "f.sql").catalog)
    lags = {spec.name: spec.config.get(COMPACTION_LAG) for spec in Broker.created}
    assert lags == {"t": str(MAX_DOWNTIME_MS), "s": None}
