"""Reads the latest and new records of a job's topics, decoded."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from forebay.catalog import Service
from forebay.codec import Unavailable
from forebay.kafka.errors import failure_of
from forebay.kafka.identities import TAIL_GROUP
from forebay.kafka.partition_ends import watermarks
from forebay.kafka.registry import shared_registry
from forebay.kafka.render import Renderer
from forebay.kafka.settings import KafkaSettings
from forebay.queries.contents import Contents, known_contents

MOST = 500
_SECONDS = 10.0
_PATIENCE_S = 8.0
_BEAT_S = 0.5
_SILENT_S = 15.0
_SHOWN_A_BEAT = 25
_FETCH = 2_000


@dataclass(frozen=True, slots=True)
class NamedTopic:
    """A topic of a job, and its role there."""

    name: str
    role: str


class NoSuchTopic(LookupError):
    """The job has no such topic. The message lists its topics."""


def topics_of(service: Service, application: str) -> list[NamedTopic]:
    """Return a job's topics, inputs first."""
    seen = service.as_application(application)
    roles = (
        ("input", seen.inputs),
        ("output", seen.outputs),
        ("errors", (seen.errors,)),
        ("late", (seen.late,)),
        ("repartition", seen.repartitions(application, 1)),
        ("changelog", seen.changelogs(application, 1)),
    )
    return [NamedTopic(topic.name, role) for role, topics in roles for topic in topics]


class TopicPages:
    """Reads topics, each time with a new consumer that joins no group."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._contents: dict[str, Contents | None] = {}

    def last(self, topic: str, count: int) -> dict[str, Any]:
        """Return the last committed records of a topic, newest first. Raises Unavailable, NoSuchTopic."""
        consumer = self._consumer()
        try:
            bounds = self._bounds(consumer, topic)
            # A transaction marker has an offset, too: every second one if commits contain one record.
            places = [TopicPartition(topic, n, max(low, high - 2 * count)) for n, (low, high) in bounds.items()]
            left = {number for number, (low, high) in bounds.items() if high > low}
            consumer.assign([place for place in places if place.partition in left])
            deadline = time.monotonic() + _PATIENCE_S
            records: list[Message] = []
            while left and time.monotonic() < deadline:
                for message in consumer.consume(_FETCH, 0.2):
                    # The end of a partition is a separate event, as a transaction marker may follow the last record.
                    if message.error() is not None:
                        left.discard(message.partition() or 0)
                    else:
                        records.append(message)
                        if (message.offset() or 0) + 1 >= bounds[message.partition() or 0][1]:
                            left.discard(message.partition() or 0)
        except KafkaException as error:
            raise failure_of(error.args[0], f"the topic {topic} can't be read") from error
        finally:
            consumer.close()
        records.sort(key=lambda found: (found.timestamp()[1], found.offset() or 0), reverse=True)
        return {
            "records": self._render(topic, records[:count]),
            "partitions": len(bounds),
            "offsets": sum(high - low for low, high in bounds.values()),
        }

    def follow(self, topic: str) -> Iterator[bytes]:
        """Yield server-sent events of new records, or of a part of them if there are too many.

        Raises:
            Unavailable, NoSuchTopic: before the first event.
        """
        consumer = self._consumer()
        try:
            bounds = self._bounds(consumer, topic)
            consumer.assign([TopicPartition(topic, number, high) for number, (_, high) in bounds.items()])
        except KafkaException as error:
            consumer.close()
            raise failure_of(error.args[0], f"the topic {topic} can't be followed") from error
        except Exception:
            consumer.close()
            raise
        return self._events(topic, consumer)

    def _events(self, topic: str, consumer: Consumer) -> Iterator[bytes]:
        try:
            yield b": following\n\n"
            told_at = time.monotonic()
            while True:
                begun = time.monotonic()
                messages: list[Message] = []
                while (left := _BEAT_S - (time.monotonic() - begun)) > 0:
                    messages += [message for message in consumer.consume(_FETCH, left) if message.error() is None]
                if messages:
                    told_at = time.monotonic()
                    shown = self._render(topic, messages[-_SHOWN_A_BEAT:])
                    content = {"records": shown[::-1], "count": len(messages), "seconds": _BEAT_S}
                    yield f"event: records\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
                elif time.monotonic() - told_at > _SILENT_S:
                    told_at = time.monotonic()
                    yield b": nothing new\n\n"
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer(self._kafka.consumer(**{"group.id": TAIL_GROUP, "queued.max.messages.kbytes": 4_096}))

    def _bounds(self, consumer: Consumer, topic: str) -> dict[int, tuple[int, int]]:
        known = consumer.list_topics(topic, timeout=_SECONDS).topics[topic]
        if known.error is not None:
            raise NoSuchTopic(f"the topic {topic} does not exist yet: its job, or `forebay topics create`, creates it")
        return {number: watermarks(consumer, TopicPartition(topic, number), _SECONDS) for number in known.partitions}

    def _render(self, topic: str, records: list[Message]) -> list[Any]:
        if topic not in self._contents:
            self._contents[topic] = known_contents(topic, self._kafka)
        renderer = Renderer(shared_registry(self._kafka.registry()), True, self._contents[topic])
        return [_render(renderer, record) for record in records]


def _render(renderer: Renderer, record: Message) -> Any:
    try:
        return json.loads(renderer.line(record))
    except Unavailable as error:
        # Without the registry, the record is still shown, except for what must be decoded with a schema.
        place = {"partition": record.partition(), "offset": record.offset(), "timestamp": record.timestamp()[1]}
        return {**place, "key": None, "value": None, "note": f"can't be decoded now: {error}"}
