"""A rescale detects unread records in the repartition topics of removed sub-topologies."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Producer
from own_topics import new_topic, settings_of, write

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from forebay.runtime.maintenance.unread_repartitions import places_with_records
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers


def produce(settings: KafkaSettings, topic: str, partition: int, value: str | None, headers: Any) -> None:
    producer = Producer(settings.producer())
    producer.produce(topic, value, value, partition, headers=headers)
    assert producer.flush(30) == 0


def announce(settings: KafkaSettings, topic: str, partition: int) -> None:
    produce(settings, topic, partition, None, time_headers("a-0", TaskTime()))


def test_announcements_and_processed_records_are_not_unread(platform: Platform) -> None:
    settings = settings_of(platform.up())
    topic = new_topic(settings, "app-gone-repartition", 4)
    write(settings, topic, [(0, "used"), (1, "used")])
    produce(settings, topic, 1, "waits", data_headers("a-0"))
    announce(settings, topic, 0)
    announce(settings, topic, 3)

    def waiting(offsets: dict[int, int]) -> set[int]:
        consumer = Consumer(settings.consumer(**{"group.id": topic}))
        places = {(topic, partition): offset for partition, offset in offsets.items()}
        return {partition for _, partition in places_with_records(consumer, places)}

    assert waiting({0: 1, 1: 1, 2: 0, 3: 0}) == {1}
    assert waiting({0: 900, 1: 900, 2: 0}) == {0, 1}, "the topic was created again"
