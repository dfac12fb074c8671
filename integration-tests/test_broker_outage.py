"""A client detects when the broker goes away and when it returns, and logs each change once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints, Platform

TOPIC = "broker-outage"


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)


@pytest.fixture
def consumer(settings: KafkaSettings) -> Iterator[Consumer]:
    TopicAdmin(settings).create([TopicSpec(TOPIC, 1)])
    consumer = Consumer(settings.consumer())
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    yield consumer
    consumer.close()


def test_an_outage_is_logged_once_and_its_end_too(
    platform: Platform,
    settings: KafkaSettings,
    consumer: Consumer,
    caplog: pytest.LogCaptureFixture,
    wait_until: Callable[..., None],
) -> None:
    caplog.set_level(logging.INFO, "forebay.kafka")

    def is_logged(*beginnings: str) -> Callable[[], bool]:
        def check() -> bool:
            consumer.consume(100, 0.1)
            lines = [record.getMessage() for record in caplog.records]
            return len(lines) == len(beginnings) and all(map(str.startswith, lines, beginnings))

        return check

    broker = f"broker {settings.bootstrap_servers} is "
    consumer.consume(1, 5.0)
    platform.broker.kill()
    wait_until(is_logged(f"{broker}not reachable: retrying"), "the outage is logged", seconds=60)
    platform.broker.start()
    wait_until(
        is_logged(f"{broker}not reachable: retrying", f"{broker}reachable again after "),
        "the end of the outage is logged",
        seconds=60,
    )

    producer = Producer(settings.producer())
    producer.produce(TOPIC, b"after the outage", timestamp=1)
    assert producer.flush(60) == 0
    read: list[bytes | None] = []

    def has_arrived() -> bool:
        read.extend(message.value() for message in consumer.consume(100, 0.1) if message.error() is None)
        return bool(read)

    wait_until(has_arrived, "a record after the outage arrives", seconds=60)
    assert len(caplog.records) == 2
