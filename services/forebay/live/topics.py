"""Creates the topics of declared streams and tables when their statement is accepted, as ksqlDB does."""

from __future__ import annotations

from contextlib import suppress

from forebay.catalog import MAX_DOWNTIME_MS, Topic
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicsDiffer
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.sql.catalog import Catalog
from forebay.sql.service import PARTITIONS, topic_config


def create_declared(kafka: KafkaSettings, catalog: Catalog) -> None:
    """Create the missing topics of declarations. Raises KafkaRefused, KafkaUnavailable."""
    topics = [
        Topic(
            source.topic,
            "",
            source.wanted.partitions or PARTITIONS,
            topic_config(source.is_table, source.wanted.retention_ms),
            replicas=source.wanted.replicas,
            # Without the time in which a compacted topic keeps all records, the job would not start.
        ).kept_for(MAX_DOWNTIME_MS)
        for source in catalog
        if not source.is_derived
    ]
    if topics:
        with suppress(TopicsDiffer):
            TopicAdmin(kafka).create(spec_of(topic, is_input=True) for topic in topics)
