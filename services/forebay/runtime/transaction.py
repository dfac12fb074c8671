"""One Kafka transaction per task and batch: outputs, errors, late records, changelogs and the marker."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from forebay.kafka.errors import failed, is_forbidden
from forebay.processor.engine import BatchResult
from forebay.processor.messages import SideRecord
from forebay.runtime.batch import Range
from forebay.runtime.broker import topic_gone
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.committed import POSITION, CommittedPosition, position_of
from forebay.runtime.deadline import DeadlineExceeded, within
from forebay.runtime.errors import TopicChanged, TransactionTooLong, Unavailable
from forebay.runtime.marker import Marker
from forebay.runtime.send_queue import SendQueue

log = logging.getLogger(__name__)

_BATCH = 10_000
_COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""What a broker says that was just started."""


_OFFSETS_SECONDS = 10.0
"""librdkafka 2.16 may never come back from sending offsets when the broker goes away meanwhile, whatever timeout it is
given (its issues 5456 and 5511)."""

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
        observer: of the same group, does not wait for transactions in flight (isolation.level=read_uncommitted): asked
            whose marker it is before anybody is fenced.
        new_producer: makes a producer with the task's transactional id.
        partitions: the task's input partitions, (topic, partition), the first of which the marker is read from.
        timeout: seconds for each call to the broker.
        transaction_seconds: the transaction's timeout.
    """

    def __init__(
        self,
        consumer: Consumer,
        observer: Consumer,
        new_producer: Callable[[], Producer],
        topics: Topics,
        changelogs: ChangelogRouter,
        partitions: Sequence[tuple[str, int]],
        timeout: float = 60.0,
        transaction_seconds: float = 300.0,
    ) -> None:
        self._transaction_seconds = transaction_seconds
        self._consumer = consumer
        self._observer = observer
        self._new_producer = new_producer
        self._topics = topics
        self._changelogs = changelogs
        self._partitions = list(partitions)
        self._timeout = timeout
        self._producer: Producer | None = None
        self._marker: Marker | None = None

    def marker(self, job: str, batch: int, take_over: bool = False) -> Marker | None:
        if self._producer is None:
            # A predecessor may have died between its offsets and its commit: asked for stable offsets, the broker
            # would not answer before that transaction timed out. `init_transactions` ends it.
            found = self._read_marker(self._observer)
            if found is not None and not take_over and (found.job != job or found.batch > batch):
                return found
            producer = self._new_producer()
            try:
                producer.init_transactions(self._timeout)
            except KafkaException as error:
                raise failed(error.args[0], "can't begin transactions") from error
            self._marker = self._read_marker(self._consumer)
            self._producer = producer
        return self._marker

    def commit(self, result: BatchResult, ranges: Sequence[Range], marker: Marker) -> None:
        producer = self._producer
        assert producer is not None, "marker() comes first"
        offsets = [TopicPartition(item.topic, item.partition, item.end, marker.to_metadata()) for item in ranges]
        try:
            producer.begin_transaction()
            queue = SendQueue(producer, self._timeout, self._transaction_seconds)
            self._send(queue, result, position_of(marker, ranges))
            queue.drain()
            group = self._consumer.consumer_group_metadata()
            within(_OFFSETS_SECONDS, lambda: producer.send_offsets_to_transaction(offsets, group, self._timeout))
            producer.commit_transaction(self._timeout)
        except DeadlineExceeded as error:
            _stuck.append(producer)
            self._producer = None
            raise Unavailable(
                f"batch {marker.batch} was not committed: its offsets were not taken within {_OFFSETS_SECONDS:.0f} s"
            ) from error
        except TransactionTooLong:
            raise
        except KafkaException as error:
            self._abort(producer, error.args[0])
            if "AUTHORIZATION" not in error.args[0].name():
                self._refuse_missing(producer, result)
            raise failed(error.args[0], f"batch {marker.batch} was not committed") from error
        except Unavailable as error:
            self._refuse_missing(producer, result)
            raise Unavailable(f"batch {marker.batch} was not committed: {error}") from error
        self._marker = marker

    def discard(self) -> None:
        if self._producer is not None:
            self._producer.purge()
        self._producer = None
        self._marker = None

    def _abort(self, producer: Producer, error: KafkaError) -> None:
        """Abort what can't be committed: offsets sent within an open transaction hide the marker until it ends."""
        if error.txn_requires_abort():
            with suppress(KafkaException):
                producer.abort_transaction(self._timeout)

    def _read_marker(self, consumer: Consumer) -> Marker | None:
        topic, partition = self._partitions[0]
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                found = consumer.committed([TopicPartition(topic, partition)], self._timeout)[0]
                break
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise failed(error.args[0], f"can't read the marker of {topic}-{partition}") from error
                time.sleep(0.1)
        if found.error is not None:
            raise failed(found.error, f"can't read the marker of {topic}-{partition}")
        return None if found.offset < 0 else Marker.from_metadata(found.metadata or "")

    def _refuse_missing(self, producer: Producer, result: BatchResult) -> None:
        """Find out whether a commit failed because a topic is gone (TopicChanged) or hidden from us (NotAuthorized)."""
        written = self._changelogs.destinations() | {output.target for output in result.outputs}
        written |= {self._topics.errors, self._topics.late}
        with suppress(KafkaException):
            known = producer.list_topics(timeout=10.0).topics
            for topic in sorted(written - known.keys()) if known else ():
                error = producer.list_topics(topic, timeout=10.0).topics[topic].error
                if error is not None and is_forbidden(error):
                    raise failed(error, f"can't write {topic}")
                if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicChanged(topic_gone(topic))

    def _send(self, queue: SendQueue, result: BatchResult, position: CommittedPosition) -> None:
        for start in range(0, len(result.outputs), _BATCH):
            queue.make_room()
            produce = queue.produce
            for key, value, timestamp, topic, headers in result.outputs[start : start + _BATCH]:
                if headers:
                    produce(topic, value, key, timestamp=timestamp, headers=headers)
                else:
                    produce(topic, value, key, timestamp=timestamp)
        timestamp, partition = max(result.position.stream_time, 0), self._changelogs.partition
        for start in range(0, len(result.changes), _BATCH):
            queue.make_room()
            produce = queue.produce
            for topic, key, row, at in self._changelogs.route(result.changes[start : start + _BATCH], timestamp):
                produce(topic, row, key, partition, timestamp=at)
        queue.produce(self._changelogs.internal, position.to_json(), POSITION, partition, timestamp=timestamp)
        self._send_side(queue, self._topics.errors, result.errors)
        self._send_side(queue, self._topics.late, result.late)

    def _send_side(self, queue: SendQueue, topic: str, records: list[SideRecord]) -> None:
        for index, (key, value, timestamp, headers) in enumerate(records):
            if index % _BATCH == 0:
                queue.make_room()
            queue.produce(topic, value, key, timestamp=timestamp, headers=[*headers])
