"""Records of repartition topics that no sub-topology of the job reads any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from forebay.kafka.rewinding import read_from_beginning
from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import announced_time
from forebay.runtime.worker.deadline import leave

_SECONDS = 30.0

Place = tuple[str, int]
"""A topic, and the number of one of its partitions."""


def former_repartitions(
    application: str, positions: Iterable[TaskPosition], known: Collection[str]
) -> dict[Place, int]:
    """Return the offsets up to which removed sub-topologies have read their repartition topics.

    Args:
        known: topics that the job reads.
    """
    return {
        (topic, partition): end
        for position in positions
        for topic, partition, end in position.ends
        if topic.startswith(f"{application}-") and topic.endswith("-repartition") and topic not in known
    }


def places_with_records(consumer: Consumer, offsets: Mapping[Place, int]) -> set[Place]:
    """Return the partitions that hold forwarded records from these offsets on. Announcements of times do not count.

    Args:
        consumer: read_committed, with partition end events. It is closed after use.

    Raises:
        Unavailable.
    """
    places: set[Place] = set()
    unread = set(offsets)
    try:
        consumer.assign([TopicPartition(*place, offset) for place, offset in offsets.items()])
        while unread:
            # Any: its headers are described as texts, too, which a consumer never returns.
            message: Any = consumer.poll(_SECONDS)
            if message is None:
                raise Unavailable(f"no answer from {_topics(unread)} for {_SECONDS:.0f} s")
            place, error = (message.topic() or "", message.partition() or 0), message.error()
            if error is None:
                if place in unread and announced_time(message, message.headers() or []) is None:
                    places.add(place)
                    unread.discard(place)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                # Records were deleted by hand, or the topic was created again. Its present records have not been read.
                read_from_beginning(consumer, *place)
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(place)
            elif error.fatal():
                raise Unavailable(f"reading {place[0]}: {error}")
        return places
    except KafkaException as error:
        raise Unavailable(f"can't read {_topics(offsets)}: {error}") from error
    finally:
        leave(consumer)


def _topics(places: Iterable[Place]) -> str:
    return ", ".join(sorted({topic for topic, _ in places}))
