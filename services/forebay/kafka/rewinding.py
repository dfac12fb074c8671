"""Reads a partition again from its beginning."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition


def read_from_beginning(consumer: Consumer, topic: str, partition: int) -> None:
    """Have a consumer read an assigned partition from its beginning, after the offset to read from was out of range.

    The client then no longer fetches the partition, and refuses to seek in it.
    """
    consumer.incremental_unassign([TopicPartition(topic, partition)])
    consumer.incremental_assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
