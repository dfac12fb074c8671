"""Reads the committed offsets of a group, and retries while its coordinator moves."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

_PAUSE_SECONDS = 0.2
_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


def read_committed(consumer: Consumer, places: list[TopicPartition], seconds: float) -> list[TopicPartition]:
    """Return the offsets that the consumer's group has committed for partitions. Raises KafkaException.

    Args:
        seconds: how long to wait for an answer, and for a coordinator that is not ready.
    """
    deadline = time.monotonic() + seconds
    while places:
        try:
            committed: list[TopicPartition] = consumer.committed(places, seconds)
            return committed
        except KafkaException as error:
            # For some seconds after a broker's start, its groups have no coordinator yet, or it still loads them.
            if error.args[0].code() not in _MOVES or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)
    return []
