"""Sends records that users write, such as those of INSERT INTO ... VALUES, to their topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.partition_ends import partition_ends
from forebay.kafka.settings import KafkaSettings


class Outgoing(Protocol):
    """An encoded record. A timestamp (ms) of None is the time at which it is sent."""

    @property
    def topic(self) -> str: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int | None: ...


_SECONDS = 20.0


def send_records(kafka: KafkaSettings, records: Sequence[Outgoing]) -> None:
    """Send records in order, and wait for the broker. Raises Unavailable if it does not accept all of them."""
    refused: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            refused.append(error)

    producer = Producer(kafka.producer())
    try:
        for record in records:
            when: dict[str, Any] = {} if record.timestamp is None else {"timestamp": record.timestamp}
            producer.produce(record.topic, record.value, record.key, on_delivery=on_delivery, **when)
    except (KafkaException, BufferError) as error:
        raise Unavailable(f"topic {record.topic} can't be written: {error}") from error
    waiting = producer.flush(_SECONDS)
    if waiting or refused:
        reason = str(refused[0]) if refused else f"no answer within {_SECONDS:.0f} s"
        count = waiting + len(refused)
        raise Unavailable(f"topic {records[-1].topic}: the broker did not accept {count} records: {reason}")


def empty_topics(kafka: KafkaSettings, topics: Sequence[str]) -> set[str]:
    """Return the topics that exist and never had a record. Raises Unavailable, KafkaRefused, KafkaUnavailable."""
    partitions = TopicAdmin(kafka).partitions(topics)
    places = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    if not places:
        return set()
    ends = partition_ends(AdminClient(kafka.admin()), places, IsolationLevel.READ_UNCOMMITTED, "the topics'")
    return {topic for topic in partitions if not any(end for (of, _), end in ends.items() if of == topic)}
