"""Detection of transactions that are still open at the end of topics."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from forebay.kafka.partition_ends import Place, partition_ends
from forebay.kafka.retrying import keep_trying
from forebay.kafka.settings import KafkaSettings

_SECONDS = 30.0


def open_transactions(settings: KafkaSettings, topics: Iterable[str]) -> dict[Place, int]:
    """Return the number of records in open transactions at the end of partitions, without those that have none."""
    admin = AdminClient(settings.admin())
    metadata = admin.list_topics(timeout=20).topics
    places = [(topic, number) for topic in topics for number in metadata[topic].partitions]
    stable, ends = (
        keep_trying(lambda level=level: partition_ends(admin, places, level, "the topics'"), _SECONDS)  # type: ignore[misc]
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    )
    return {place: ends[place] - stable[place] for place in places if ends[place] > stable[place]}
