"""The offsets at which a push query begins to read a topic."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from forebay.codec import Unavailable
from forebay.kafka.partition_ends import watermarks

_SECONDS = 20


def partitions_of(consumer: Consumer, topic: str, from_beginning: bool) -> list[TopicPartition]:
    """Return a topic's partitions, each with the offset at which reading begins.

    Raises:
        Unavailable: the broker does not have the topic. KafkaException: the broker can't be reached.
    """
    metadata = consumer.list_topics(topic, _SECONDS).topics[topic]
    if metadata.error is not None:
        raise Unavailable(str(metadata.error))
    partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in metadata.partitions]
    if not from_beginning:
        for partition in partitions:
            # Look up the end now instead of using OFFSET_END, which the client resolves at its first fetch: records
            # that are committed until then would be missing from the answer.
            _, partition.offset = watermarks(consumer, partition, _SECONDS)
    return partitions
