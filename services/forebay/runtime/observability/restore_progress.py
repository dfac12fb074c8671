"""Progress of a restore: tasks commit how far they have read to a separate consumer group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.identities import restore_group
from forebay.kafka.partition_ends import watermarks
from forebay.kafka.settings import KafkaSettings

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """How much of the changelogs was read so far.

    Args:
        records: number of offsets passed, including transaction markers and compacted records.
        total: number of all offsets.
        bytes: bytes of the keys and values read.
    """

    records: int
    total: int
    bytes: int


class RestoreWatch:
    """Reads the progress of a restore of the changelogs `topics`. Progress of an earlier restore is reset."""

    def __init__(self, kafka: KafkaSettings, application: str, topics: Iterable[str]) -> None:
        self._consumer = Consumer(kafka.consumer(**{"group.id": restore_group(application)}))
        partitions_of = TopicAdmin(kafka).partitions(topics)
        self._places = [(topic, n) for topic, partitions in partitions_of.items() for n in range(partitions)]
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}

    def begin(self) -> None:
        """Read the bounds of the changelogs, and reset the progress. Raises KafkaException."""
        for place in self._places:
            self._bounds[place] = watermarks(self._consumer, TopicPartition(*place), _SECONDS)
        offsets = [TopicPartition(*place, low, "0") for place, (low, _) in self._bounds.items()]
        self._consumer.commit(offsets=offsets, asynchronous=False)

    def look(self) -> RestoreProgress | None:
        """Return the progress; None if the broker does not answer."""
        try:
            committed = self._consumer.committed([TopicPartition(*place) for place in self._places], _SECONDS)
        except KafkaException:
            return None
        records = sum(max(0, place.offset - self._bounds[place.topic, place.partition][0]) for place in committed)
        size = sum(int(place.metadata or 0) for place in committed if place.offset >= 0)
        return RestoreProgress(records, sum(high - low for low, high in self._bounds.values()), size)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()
