"""Requests of the source to the broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import failure_of, without_partitions
from forebay.kafka.partition_ends import offsets_at, partition_begins, readable_ends
from forebay.runtime.errors import TopicChanged, Unavailable
from forebay.runtime.protocol.lease import Partitioned as Ends

_LOOK_AGAIN_SECONDS = 30

Partition = tuple[str, int]


class BrokerView:
    """Ends and times of the input topics.

    Args:
        admin: client for all requests except offsets by time.
        consumer: client for offsets by time.
        topics: the input topics.
        timeout: seconds for each request.
        own: other topics of the job, which must continue to exist.
    """

    def __init__(
        self,
        admin: AdminClient,
        consumer: Consumer,
        topics: tuple[str, ...],
        timeout: float = 10.0,
        own: tuple[str, ...] = (),
    ) -> None:
        self._admin = admin
        self._consumer = consumer
        self._topics = topics
        self._timeout = timeout
        self._own = own
        self._partitions: dict[str, int] = {}
        self._looked_at = 0.0

    @property
    def partitions(self) -> Mapping[str, int]:
        """The numbers of partitions of the input topics, as of the latest request."""
        return self._partitions

    def topic_ids(self) -> dict[str, str]:
        """Return the broker's id of each topic, the job's own included.

        Raises:
            TopicChanged: a topic does not exist.
            Unavailable: the broker does not answer, or describes a topic without partitions. It does so for a moment
                while the topic is created or deleted, or while the controller moves.
        """
        ids, partitions = {}, {}
        for topic, future in self._admin.describe_topics(TopicCollection([*self._topics, *self._own])).items():
            try:
                described = future.result(self._timeout)
            except KafkaException as error:
                if error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
                    raise TopicChanged(_missing(topic, topic in self._topics)) from error
                raise failure_of(error.args[0], f"can't describe {topic}") from error
            except TimeoutError as error:
                raise Unavailable(f"can't describe {topic}: no answer within {self._timeout} s") from error
            if not described.partitions:
                raise Unavailable(without_partitions(topic))
            ids[topic] = str(described.topic_id)
            if topic in self._topics:
                partitions[topic] = len(described.partitions)
        self._partitions = partitions
        self._looked_at = time.monotonic()
        return ids

    def latest(self) -> Ends:
        """Return the end of what can be read now in every partition: the last stable offset, or the first offset."""
        return self._offsets(lambda places: readable_ends(self._admin, places, "the inputs'", self._timeout))

    def earliest(self) -> Ends:
        """Return the first offset of every partition."""
        return self._offsets(lambda places: partition_begins(self._admin, places, "the inputs'", self._timeout))

    def from_time(self, timestamp_ms: int) -> Ends:
        """Return the first offset at or after a time in every partition; without one, its end."""
        # The ends first. Otherwise a record that arrives between the two requests could lie before the end and be
        # skipped.
        latest = self.latest()
        wanted = {(topic, p): timestamp_ms for topic, ends in latest.items() for p in range(len(ends))}
        try:
            offsets = offsets_at(self._consumer, wanted, self._timeout)
        except KafkaException as error:
            raise failure_of(error.args[0], "can't look up offsets by time") from error
        return {
            topic: tuple(end if (offset := offsets[topic, p]) is None else offset for p, end in enumerate(ends))
            for topic, ends in latest.items()
        }

    def _offsets(self, look_up: Callable[[list[Partition]], Mapping[Partition, int]]) -> Ends:
        if not self._looked_at or time.monotonic() - self._looked_at > _LOOK_AGAIN_SECONDS:
            self.topic_ids()
        counts = self._partitions.items()
        try:
            offsets = look_up([(topic, p) for topic, count in counts for p in range(count)])
        except Unavailable:
            self._looked_at = 0.0
            raise
        return {topic: tuple(offsets[topic, p] for p in range(count)) for topic, count in counts}


def topic_gone(topic: str) -> str:
    """Return the error message for a topic that the job writes and that no longer exists."""
    return (
        f"the job's topic {topic} does not exist any more: `forebay topics create` creates it again, empty; a "
        "changelog must come back as it was, or the job starts over (`forebay reset`)"
    )


def check_same(known: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Refuse topics with other ids than the known ones. A topic without a known id is new. Raises TopicChanged."""
    for topic, topic_id in found.items():
        before = known.get(topic, topic_id)
        if before != topic_id:
            raise TopicChanged(
                f"{topic}: the checkpoint was made with topic id {before}, the broker has {topic_id}: the topic was "
                "deleted and created again. Start over with `forebay reset`, or restore the old topic"
            )


def _missing(topic: str, is_input: bool) -> str:
    if is_input:
        return f"the input topic {topic} does not exist (any more): `forebay topics create` makes it"
    return topic_gone(topic)
