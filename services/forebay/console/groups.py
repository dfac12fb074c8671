"""Reads the offsets that groups committed, with their metadata."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, TopicPartition

from forebay.kafka.committed_offsets import read_committed
from forebay.kafka.errors import failure_of
from forebay.kafka.settings import KafkaSettings

SECONDS = 5.0
"""Timeout of requests to the broker, in seconds."""


class GroupOffsets:
    """Reads committed offsets with one consumer per group, which never joins the group.

    An admin client could read all groups, but it crashes the process if a group's coordinator is not ready or moves
    (librdkafka issue 5040).
    """

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._consumers: dict[str, Consumer] = {}
        self._lock = threading.Lock()

    def read(self, group: str, topics: Iterable[str]) -> list[TopicPartition]:
        """Return the offsets that a group committed for topics. Missing topics are left out.

        Raises:
            Unavailable: the broker does not answer, or a right is missing.
        """
        try:
            consumer = self._consumer(group)
            places = [
                TopicPartition(topic, partition)
                for topic in topics
                for partition in consumer.list_topics(topic, SECONDS).topics[topic].partitions
            ]
            committed = read_committed(consumer, places, SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"the group {group} can't be read") from error
        return [place for place in committed if place.error is None and place.offset >= 0]

    def leave(self, group: str) -> None:
        """Close the consumer of a group, if there is one."""
        with self._lock:
            consumer = self._consumers.pop(group, None)
        if consumer is not None:
            with suppress(KafkaException):
                consumer.close()

    def _consumer(self, group: str) -> Consumer:
        with self._lock:
            if group not in self._consumers:
                self._consumers[group] = Consumer(self._kafka.consumer(**{"group.id": group}))
            return self._consumers[group]
