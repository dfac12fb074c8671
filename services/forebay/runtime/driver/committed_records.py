"""Reads committed records of a job's own topics, up to their present ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from forebay.catalog import Service
from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import failure_of
from forebay.kafka.identities import restore_group
from forebay.kafka.rewinding import read_from_beginning
from forebay.kafka.settings import KafkaSettings
from forebay.processor.messages import Message
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.positions import Task, committed_positions
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.worker.ends import last_stable

_SECONDS = 30.0
Place = tuple[str, int]
"""A topic, and the number of one of its partitions."""
Take = Callable[[Place, Message, int], None]
"""Called with each record and its offset."""


class CommittedRecords:
    """The committed records of a job's own topics.

    Args:
        former: internal changelogs of sub-topologies that the job had once.
    """

    def __init__(
        self, kafka: KafkaSettings, service: Service, application: str, tasks: int, former: Sequence[str] = ()
    ) -> None:
        self._kafka = kafka
        self._service = service
        self._application = application
        self._tasks = tasks
        self._former = former

    @property
    def internal(self) -> Sequence[str]:
        """The internal changelogs, including those of sub-topologies that the job had once."""
        present = [internal_topic(self._application, number) for number in range(self._service.stages)]
        return [*present, *self._former]

    def positions(self) -> Mapping[Task, TaskPosition]:
        """Return the committed positions. Raises Unavailable, StateConflict."""
        return committed_positions(self._kafka, self._service, self._application, self._tasks, self._former)

    def existing(self, topics: Collection[str]) -> list[str]:
        """Return the topics that exist with a partition for each task. Raises Unavailable."""
        # Positions name topics forever. Those that the job no longer has may be deleted, or have another number of
        # tasks.
        counts = TopicAdmin(self._kafka).partitions(topics)
        return [topic for topic, count in counts.items() if count == self._tasks]

    def read(self, offsets: Mapping[Place, int], take: Take) -> None:
        """Read partitions from offsets to their present ends. Raises Unavailable."""
        # An empty fetch shows a partition's end, and the broker answers it only after this time.
        settings = {"group.id": restore_group(self._application), "fetch.wait.max.ms": 10}
        consumer = Consumer(self._kafka.consumer(**settings))
        # Groups that still run may append records faster than they are read here.
        ends = last_stable(AdminClient(self._kafka.admin()), offsets)
        left = {place for place, offset in offsets.items() if offset < ends[place]}
        try:
            consumer.assign([TopicPartition(*place, offsets[place]) for place in left])
            while left:
                # Any: its headers are described as texts, too, which a consumer never returns.
                message: Any = consumer.poll(_SECONDS)
                if message is None:
                    raise Unavailable(
                        f"no answer from {', '.join(sorted({topic for topic, _ in left}))} for {_SECONDS} s"
                    )
                place, error = (message.topic() or "", message.partition() or 0), message.error()
                if error is None:
                    if place in left and message.offset() < ends[place]:
                        take(place, message, message.offset())
                    if place in left and message.offset() + 1 >= ends[place]:
                        left.discard(place)
                        consumer.incremental_unassign([TopicPartition(*place)])
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(place)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    # Records before the first offset are deleted: compacted, or used by the reader.
                    read_from_beginning(consumer, *place)
                elif error.fatal():
                    raise Unavailable(f"reading {place[0]}: {error}")
        except KafkaException as error:
            raise failure_of(error.args[0], "can't read the unread records of repartition topics") from error
        finally:
            consumer.close()
