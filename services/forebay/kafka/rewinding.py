"""Makes a consumer read a partition from its beginning again."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition


def read_from_beginning(consumer: Consumer, topic: str, partition: int) -> None:
    """Make a consumer read an assigned partition from its beginning, after its offset was out of range.

    After that error the client no longer fetches the partition, and refuses to seek in it.
    """
    consumer.incremental_unassign([TopicPartition(topic, partition)])
    consumer.incremental_assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
