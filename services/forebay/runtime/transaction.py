"""One Kafka transaction per task and batch: outputs, errors, late records, changelogs and the marker."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from forebay.processor.engine import BatchResult
from forebay.processor.messages import SideRecord
from forebay.runtime.batch import Range
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.deadline import DeadlineExceeded, within
from forebay.runtime.errors import Unavailable
from forebay.runtime.marker import Marker

log = logging.getLogger(__name__)

_BATCH = 10_000
_QUEUED = 200_000
_COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""What a broker says that was just started."""


_OFFSETS_SECONDS = 20.0
"""librdkafka 2.16 may never come back from sending offsets after a broker restart, whatever timeout it is given."""

_stuck: list[Producer] = []
"""Producers a thread still works on: destroying one would wait for that thread. Their worker ends soon."""


@dataclass(frozen=True, slots=True)
class Topics:
    """Where a task's side records go; outputs name their own topic."""

    errors: str
    late: str


class TransactionalSink:
    """Commits batches of one task under its transactional id (implements `Sink`).

    A producer is used again only when its own last transaction committed; otherwise a new one fences it off
    and the marker is read again, once nobody else can write it.

    Args:
        consumer: its group holds the markers; only ever assigned, never subscribed.
        new_producer: makes a producer with the task's transactional id.
        partitions: the task's input partitions, (topic, partition), the first of which the marker is read from.
        timeout: seconds for each call to the broker.
    """

    def __init__(
        self,
        consumer: Consumer,
        new_producer: Callable[[], Producer],
        topics: Topics,
        changelogs: ChangelogRouter,
        partitions: Sequence[tuple[str, int]],
        timeout: float = 60.0,
    ) -> None:
        self._consumer = consumer
        self._new_producer = new_producer
        self._topics = topics
        self._changelogs = changelogs
        self._partitions = list(partitions)
        self._timeout = timeout
        self._producer: Producer | None = None
        self._marker: Marker | None = None

    def marker(self, job: str) -> Marker | None:
        if self._producer is None:
            found = self._read_marker()
            if found is not None and found.job != job:
                return found
            producer = self._new_producer()
            try:
                producer.init_transactions(self._timeout)
            except KafkaException as error:
                raise Unavailable(f"can't begin transactions: {error}") from error
            self._marker = self._read_marker()
            self._producer = producer
        return self._marker

    def commit(self, result: BatchResult, ranges: Sequence[Range], marker: Marker) -> None:
        producer = self._producer
        assert producer is not None, "marker() comes first"
        offsets = [TopicPartition(item.topic, item.partition, item.end, marker.to_metadata()) for item in ranges]
        try:
            producer.begin_transaction()
            self._send(producer, result)
            group = self._consumer.consumer_group_metadata()
            within(_OFFSETS_SECONDS, lambda: producer.send_offsets_to_transaction(offsets, group, self._timeout))
            producer.commit_transaction(self._timeout)
        except DeadlineExceeded as error:
            _stuck.append(producer)
            self._producer = None
            raise Unavailable(
                f"batch {marker.batch} was not committed: its offsets were not taken within {_OFFSETS_SECONDS:.0f} s"
            ) from error
        except (KafkaException, BufferError) as error:
            raise Unavailable(f"batch {marker.batch} was not committed: {error}") from error
        self._marker = marker

    def discard(self) -> None:
        if self._producer is not None:
            self._producer.purge()
        self._producer = None
        self._marker = None

    def _read_marker(self) -> Marker | None:
        topic, partition = self._partitions[0]
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                found = self._consumer.committed([TopicPartition(topic, partition)], self._timeout)[0]
                break
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise Unavailable(f"can't read the marker of {topic}-{partition}: {error}") from error
                time.sleep(0.1)
        if found.error is not None:
            raise Unavailable(f"can't read the marker of {topic}-{partition}: {found.error}")
        return None if found.offset < 0 else Marker.from_metadata(found.metadata or "")

    def _send(self, producer: Producer, result: BatchResult) -> None:
        for start in range(0, len(result.outputs), _BATCH):
            self._make_room(producer)
            produce = producer.produce
            for key, value, timestamp, topic in result.outputs[start : start + _BATCH]:
                produce(topic, value, key, timestamp=timestamp)
        timestamp, partition = max(result.position.stream_time, 0), self._changelogs.partition
        for start in range(0, len(result.changes), _BATCH):
            self._make_room(producer)
            produce = producer.produce
            for topic, key, row, at in self._changelogs.route(result.changes[start : start + _BATCH], timestamp):
                produce(topic, row, key, partition, timestamp=at)
        self._send_side(producer, self._topics.errors, result.errors)
        self._send_side(producer, self._topics.late, result.late)

    def _make_room(self, producer: Producer) -> None:
        deadline = time.monotonic() + self._timeout
        producer.poll(0)
        while len(producer) > _QUEUED:
            producer.poll(0.01)
            if time.monotonic() > deadline:
                raise Unavailable(f"{len(producer)} records wait for the broker since {self._timeout} s")

    def _send_side(self, producer: Producer, topic: str, records: list[SideRecord]) -> None:
        for index, (key, value, timestamp, headers) in enumerate(records):
            if index % _BATCH == 0:
                self._make_room(producer)
            producer.produce(topic, value, key, timestamp=timestamp, headers=[*headers])
