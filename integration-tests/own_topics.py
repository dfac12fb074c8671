"""Topics for a test, and transactions that fill them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from confluent_kafka import Producer

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints

Value = tuple[int, str]
"""Partition and text of a record."""


def settings_of(endpoints: Endpoints) -> KafkaSettings:
    """Return the settings for a connection to the platform."""
    return KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)


def new_name(kind: str) -> str:
    """Return an unused name."""
    return f"{kind}-{uuid.uuid4().hex[:8]}"


def new_topic(settings: KafkaSettings, kind: str, partitions: int = 1, **config: str) -> str:
    """Create a topic and return its name."""
    name = new_name(kind)
    TopicAdmin(settings).create([TopicSpec(name, partitions, {"retention.ms": "-1", **config})])
    return name


def transactional(settings: KafkaSettings, identity: str) -> Producer:
    """Return a producer that can begin transactions. It fences earlier producers with the same transactional id."""
    producer = Producer(settings.producer(**{"transactional.id": identity}))
    producer.init_transactions(30)
    return producer


def send(producer: Producer, topic: str, values: Iterable[Value]) -> None:
    """Send records within the producer's transaction, if it has one, and wait for the broker."""
    for partition, text in values:
        producer.produce(topic, text, f"key-{text}", partition, timestamp=1)
    assert producer.flush(30) == 0


def write(settings: KafkaSettings, topic: str, values: Iterable[Value]) -> None:
    """Commit records in one transaction, after which each partition has a control record."""
    producer = transactional(settings, topic)
    producer.begin_transaction()
    send(producer, topic, values)
    producer.commit_transaction(30)


def write_aborted(settings: KafkaSettings, topic: str, values: Iterable[Value]) -> None:
    """Send records in a transaction that is aborted."""
    producer = transactional(settings, topic)
    producer.begin_transaction()
    send(producer, topic, values)
    producer.abort_transaction(30)


def texts(count: int, partition: int = 0, start: int = 0) -> list[Value]:
    """Return `count` different records for a partition."""
    return [(partition, f"{partition}.{number}") for number in range(start, start + count)]
