"""One Kafka transaction per task group and commit: all that its tasks send, their changelogs and positions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from forebay.kafka.errors import failed, is_forbidden
from forebay.kafka.leaders import learn_leaders
from forebay.partitioner import Partitioner
from forebay.processor.engine import BatchResult
from forebay.processor.messages import Headers, SideRecord
from forebay.runtime.broker import topic_gone
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.errors import GroupFenced, TopicChanged, TransactionTooLong, Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers
from forebay.runtime.task.deadline import DeadlineExceeded, within
from forebay.runtime.task.send_queue import SendQueue

log = logging.getLogger(__name__)

_BATCH = 10_000

_OFFSETS_SECONDS = 10.0
"""librdkafka 2.16 may never come back from sending offsets when the broker goes away meanwhile, whatever timeout it is
given (its issues 5456 and 5511)."""

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)

_stuck: list[Producer] = []
"""Producers a thread still works on: destroying one would wait for that thread. Their worker ends soon."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """Where what a job sends goes; outputs name their own topic.

    Args:
        repartitions: topic by name of a repartition.
        partitioner: of the repartition topics: their partitions are the tasks.
        outputs: topic by an output's name, where they differ.
    """

    errors: str
    late: str
    repartitions: Mapping[str, str]
    partitioner: Partitioner
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """What one task adds to a transaction.

    Args:
        sender: names the task to those behind it.
        times: names of the repartitions in which every partition is told the task's time, with that time.
    """

    name: str
    sender: str
    result: BatchResult
    position: TaskPosition
    changelogs: ChangelogRouter
    times: tuple[tuple[str, TaskTime], ...] = ()


class GroupProducer:
    """Commits under the group's transactional id. Used again only after its own commit; else a new one fences it off.

    Args:
        marker_consumer: its group is told the input offsets; only ever asked, never subscribed.
        new_producer: makes a producer with the group's transactional id.
        timeout: seconds for each call to the broker.
        transaction_seconds: the transaction's timeout.
    """

    def __init__(
        self,
        marker_consumer: Consumer,
        new_producer: Callable[[], Producer],
        destinations: Destinations,
        timeout: float = 60.0,
        transaction_seconds: float = 60.0,
    ) -> None:
        self._consumer = marker_consumer
        self._new_producer = new_producer
        self._destinations = destinations
        self._timeout = timeout
        self._transaction_seconds = transaction_seconds
        self._producer: Producer | None = None

    @property
    def is_open(self) -> bool:
        """Whether the group is ours, as far as we know."""
        return self._producer is not None

    def fence(self) -> None:
        """Fence off and abort whoever wrote for this group before. Raises Unavailable."""
        producer = self._new_producer()
        try:
            learn_leaders(producer, [self._destinations.errors], self._timeout)
            producer.init_transactions(self._timeout)
        except KafkaException as error:
            raise failed(error.args[0], "can't begin transactions") from error
        self._producer = producer

    def commit(self, commits: Sequence[TaskCommit], marked: Sequence[TaskPosition] = ()) -> None:
        """Send everything in one transaction. Raises Unavailable: whether it was committed, the changelogs tell.

        Args:
            marked: positions that the marker group is told.
        """
        producer = self._producer
        assert producer is not None, "fence() comes first"
        try:
            producer.begin_transaction()
            queue = SendQueue(producer, self._timeout, self._transaction_seconds)
            for commit in commits:
                self._send(queue, commit)
            if marked:
                self._mark(producer, marked)
            queue.drain()
            producer.commit_transaction(self._timeout)
        except DeadlineExceeded as error:
            _stuck.append(producer)
            self._producer = None
            raise Unavailable(
                f"nothing was committed: the offsets were not taken within {_OFFSETS_SECONDS:.0f} s"
            ) from error
        except TransactionTooLong:
            raise
        except KafkaException as error:
            cause = _cause(producer, error.args[0])
            if cause.code() in _FENCED:
                raise GroupFenced(f"another worker commits for this group now ({cause.name()})") from error
            self._abort(producer, cause)
            if not is_forbidden(cause):
                self._refuse_missing(producer, commits)
            raise failed(cause, "the transaction was not committed") from error
        except Unavailable as error:
            self._refuse_missing(producer, commits)
            raise Unavailable(f"the transaction was not committed: {error}") from error

    def _mark(self, producer: Producer, positions: Sequence[TaskPosition]) -> None:
        # Of a partition that several tasks read (a global table's) one of them tells.
        told = {(topic, partition): (end, p.metadata()) for p in positions for topic, partition, end in p.ends}
        offsets = [TopicPartition(*place, end, metadata) for place, (end, metadata) in told.items()]
        group = self._consumer.consumer_group_metadata()
        within(_OFFSETS_SECONDS, lambda: producer.send_offsets_to_transaction(offsets, group, self._timeout))

    def discard(self) -> None:
        """Give up what the last attempt left behind: `fence` comes next."""
        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.purge()
        self._producer = None

    def _abort(self, producer: Producer, error: KafkaError) -> None:
        """Abort what can't be committed: an open transaction hides what comes behind it until it ends."""
        if error.txn_requires_abort():
            with suppress(KafkaException):
                producer.abort_transaction(self._timeout)

    def _refuse_missing(self, producer: Producer, commits: Sequence[TaskCommit]) -> None:
        """Find out whether a commit failed because a topic is gone (TopicChanged) or hidden from us (NotAuthorized)."""
        written = {self._destinations.errors, self._destinations.late, *self._destinations.repartitions.values()}
        for commit in commits:
            sent = {output.target for output in commit.result.outputs}
            written |= commit.changelogs.destinations() | {self._destinations.outputs.get(to, to) for to in sent}
        with suppress(KafkaException):
            known = producer.list_topics(timeout=10.0).topics
            for topic in sorted(written - known.keys()) if known else ():
                error = producer.list_topics(topic, timeout=10.0).topics[topic].error
                if error is not None and is_forbidden(error):
                    raise failed(error, f"can't write {topic}")
                if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicChanged(topic_gone(topic))

    def _send(self, queue: SendQueue, commit: TaskCommit) -> None:
        result, topic_of = commit.result, self._destinations.outputs.get
        for start in range(0, len(result.outputs), _BATCH):
            queue.make_room()
            put, produce = queue.put, queue.produce
            for key, value, timestamp, target, headers, chosen in result.outputs[start : start + _BATCH]:
                topic = topic_of(target, target)
                if chosen is not None:
                    produce(topic, value, key, chosen, timestamp=timestamp, headers=headers or [])
                elif headers:
                    produce(topic, value, key, timestamp=timestamp, headers=headers)
                else:
                    try:
                        put(topic, value, key, timestamp=timestamp)
                    except BufferError:
                        produce(topic, value, key, timestamp=timestamp)
        self._send_onward(queue, commit)
        changelogs = commit.changelogs
        timestamp, partition = max(result.position.stream_time, 0), changelogs.partition
        for start in range(0, len(result.changes), _BATCH):
            queue.make_room()
            put, produce = queue.put, queue.produce
            for topic, key, row, at in changelogs.route(result.changes[start : start + _BATCH], timestamp):
                try:
                    put(topic, row, key, partition, timestamp=at)
                except BufferError:
                    produce(topic, row, key, partition, timestamp=at)
        self._send_side(queue, self._destinations.errors, result.errors)
        self._send_side(queue, self._destinations.late, result.late)
        # Last: who follows the changelogs finds the position behind the rows it stands for.
        queue.produce(changelogs.internal, commit.position.to_json(), POSITION, partition, timestamp=timestamp)

    def _send_onward(self, queue: SendQueue, commit: TaskCommit) -> None:
        topics, partitioner = self._destinations.repartitions, self._destinations.partitioner
        onward, sender = commit.result.onward, [*data_headers(commit.sender)]
        for start in range(0, len(onward), _BATCH):
            queue.make_room()
            produce = queue.produce
            for key, value, timestamp, name, headers, chosen in onward[start : start + _BATCH]:
                marked = [*sender, *headers] if headers else sender
                place = partitioner(key or b"") if chosen is None else chosen % partitioner.partitions
                produce(topics[name], value, key, place, timestamp=timestamp, headers=marked)
        for name, time in commit.times:
            telling: Headers = [*time_headers(commit.sender, time)]
            for number in range(partitioner.partitions):
                queue.produce(topics[name], None, None, number, timestamp=max(time.stream_time, 0), headers=[*telling])

    def _send_side(self, queue: SendQueue, topic: str, records: list[SideRecord]) -> None:
        for index, (key, value, timestamp, headers) in enumerate(records):
            if index % _BATCH == 0:
                queue.make_room()
            queue.produce(topic, value, key, timestamp=timestamp, headers=[*headers])


def _cause(producer: Producer, error: KafkaError) -> KafkaError:
    """Return why a transaction is in error, where the call that met it only says that it is."""
    if error.code() != KafkaError._STATE:
        return error
    try:
        # Refused in an open transaction; in one that must be aborted with the error that made it so.
        producer.begin_transaction()
    except KafkaException as refused:
        first: KafkaError = refused.args[0]
        return error if first.code() == KafkaError._STATE else first
    return error
