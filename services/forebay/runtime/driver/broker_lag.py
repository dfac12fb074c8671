"""Lag of a job from the broker's data: the committed offsets, and the ends of topics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.committed_offsets import read_committed
from forebay.kafka.identities import marker_group
from forebay.kafka.partition_ends import partition_ends
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.topics import is_internal

_SECONDS = 5.0
_COUNTED = 1_000
"""Lag in offsets up to which records are counted. In a larger lag, the transaction markers do not matter."""

Place = tuple[str, int]


class BrokerLag:
    """Compares the offsets that a job committed with the ends of its input topics.

    Its consumer never joins the group.
    """

    def __init__(self, kafka: KafkaSettings, application: str) -> None:
        self._consumer = Consumer(kafka.consumer(**{"group.id": marker_group(application)}))
        self._counts: dict[tuple[Place, int, int], int] = {}

    def read(self, ends: Mapping[Place, int]) -> dict[Place, int]:
        """Return the lag of partitions, in records; partitions without committed offsets are left out.

        Args:
            ends: last stable offsets of the partitions.

        Raises:
            Unavailable: the broker does not answer, or a right is missing.
        """
        try:
            answers = read_committed(self._consumer, [TopicPartition(*place) for place in ends], _SECONDS)
        except KafkaException as error:
            raise Unavailable(f"can't read the offsets of the job's marker group: {error}") from error
        begins = {(a.topic, a.partition): a.offset for a in answers if a.error is None and a.offset >= 0}
        lag = {place: max(0, ends[place] - begin) for place, begin in begins.items()}
        gaps = {(place, begins[place], ends[place]) for place, offsets in lag.items() if 0 < offsets <= _COUNTED}
        self._counts = {gap: count for gap, count in self._counts.items() if gap in gaps}
        self._count(gaps - self._counts.keys())
        return lag | {place: count for (place, _, _), count in self._counts.items()}

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _count(self, gaps: set[tuple[Place, int, int]]) -> None:
        """Count the records between two offsets by reading them, because some offsets may be transaction markers."""
        if not gaps:
            return
        waiting = {place: (begin, end) for place, begin, end in gaps}
        counts = dict.fromkeys(waiting, 0)
        deadline = time.monotonic() + _SECONDS
        try:
            self._consumer.assign([TopicPartition(*place, begin) for place, begin, _ in gaps])
            while waiting and time.monotonic() < deadline:
                for message in self._consumer.consume(_COUNTED, 0.2):
                    place = message.topic() or "", message.partition() or 0
                    error, offset = message.error(), message.offset() or 0
                    if place not in waiting:
                        continue
                    begin, end = waiting[place]
                    if error is None and offset < end:
                        counts[place] += 1
                    is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
                    if is_end or offset >= end - 1:
                        self._counts[place, begin, end] = counts[place]
                        del waiting[place]
                    elif error is not None:
                        del waiting[place]
            self._consumer.unassign()
        except KafkaException as error:
            raise Unavailable(f"can't count the unread records of the inputs: {error}") from error


def read_inputs(kafka: KafkaSettings, application: str) -> list[str]:
    """Return the input topics of which a job has committed offsets. Raises Unavailable.

    Inputs of earlier statements, which the job no longer reads, are among them.
    """
    with closing(Consumer(kafka.consumer(**{"group.id": marker_group(application)}))) as consumer:
        try:
            topics = consumer.list_topics(timeout=_SECONDS).topics
            places = [
                TopicPartition(name, number)
                for name, topic in topics.items()
                for number in topic.partitions
                if not is_internal(application, name)
            ]
            committed = read_committed(consumer, places, _SECONDS)
        except KafkaException as error:
            raise Unavailable(f"can't read the offsets of the group {marker_group(application)}: {error}") from error
    return sorted({place.topic for place in committed if place.error is None and place.offset >= 0})


def read_lag(kafka: KafkaSettings, application: str, topics: Sequence[str]) -> dict[str, int]:
    """Return a job's lag by topic, from the offsets that it committed. Raises Unavailable."""
    partitions = TopicAdmin(kafka).partitions(topics)
    places = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    if not places:
        return {}
    ends = partition_ends(AdminClient(kafka.admin()), places, IsolationLevel.READ_COMMITTED, "the inputs'")
    with closing(BrokerLag(kafka, application)) as broker:
        by_place = broker.read(ends)
    lag: dict[str, int] = {}
    for (topic, _), records in by_place.items():
        lag[topic] = lag.get(topic, 0) + records
    return lag
