"""One Kafka transaction per commit of a task group: the tasks' records, their changed rows and positions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from forebay.kafka.errors import failure_of, is_forbidden
from forebay.kafka.leaders import learn_leaders
from forebay.runtime.broker.requests import topic_gone
from forebay.runtime.errors import TopicChanged, TransactionTooLong, Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.protocol.snapshot_mark import MARK, SnapshotMark
from forebay.runtime.task.commit import Destinations, TaskCommit, send
from forebay.runtime.worker.deadline import DeadlineExceeded, within
from forebay.runtime.worker.lost_clients import refuse_lost
from forebay.runtime.worker.retries import RetryWatch
from forebay.runtime.worker.send_queue import SendQueue

log = logging.getLogger(__name__)

_OFFSETS_SECONDS = 10.0
"""librdkafka 2.16 may never return from sending offsets if the broker fails in the meantime, regardless of the timeout
(its issues 5456 and 5511)."""

_stuck: list[Producer] = []
"""Producers that a thread still uses, because destroying one would wait for that thread. Their worker ends soon."""


class GroupProducer:
    """Commits under the group's transactional id.

    A client is reused only after its own successful commit. Otherwise a new client fences it.

    **A commit that the client repeated is the last one of its producer epoch.** If the connection is lost, librdkafka
    sends EndTxn again. The first copy may still be on its way, and librdkafka speaks transaction protocol v1, in which
    the broker does not know to which transaction of a producer epoch an EndTxn belongs (KAFKA-17754, librdkafka issue
    5423): the late copy would commit the records that the next transaction has sent so far. A new epoch prevents this:
    until `init_transactions` the coordinator has no open transaction, so the late copy changes nothing, and afterwards
    it refuses the old epoch. Therefore `is_open` is False after such a commit, and the loop opens the group again
    (`TaskGroup.open`). A new epoch without reading the changelogs would not be safe, because it would also fence a
    worker that has taken over and committed in the meantime.

    The other transactional requests need no such rule. Every abort is followed by `discard`, so by a new epoch. A late
    AddPartitionsToTxn or AddOffsetsToTxn opens a transaction without records or adds to one that is open; a late
    InitProducerId fences this producer, which then gives up; a late Produce has a sequence number that was used. A late
    TxnOffsetCommit may set the marker group back until the next commit, but only the checkpoint id is read from there.

    Args:
        marker_consumer: consumer of the group to which the input offsets are committed. It never subscribes.
        new_producer: creates a producer with the group's transactional id.
        timeout: seconds for each call to the broker.
        transaction_seconds: the transaction's timeout.
        retries: watches the producers that `new_producer` creates.
        bounded: runs a call that may hang, with a timeout (s). Raises DeadlineExceeded.
    """

    def __init__(
        self,
        marker_consumer: Consumer,
        new_producer: Callable[[], Producer],
        destinations: Destinations,
        timeout: float = 60.0,
        transaction_seconds: float = 60.0,
        retries: RetryWatch | None = None,
        bounded: Callable[[float, Callable[[], object]], None] = within,
    ) -> None:
        self._consumer = marker_consumer
        self._new_producer = new_producer
        self._destinations = destinations
        self._timeout = timeout
        self._transaction_seconds = transaction_seconds
        self._retries = retries or RetryWatch()
        self._bounded = bounded
        self._producer: Producer | None = None

    @property
    def is_open(self) -> bool:
        """Whether this worker owns the group, as far as it knows."""
        return self._producer is not None

    def fence(self) -> None:
        """Fence the previous producer of this group, and abort its transaction.

        Raises:
            GroupFenced: another worker has fenced this producer at the same moment. Unavailable.
        """
        assert self._producer is None, "the group is open: its own producer would be fenced off"
        # Always a new client, because librdkafka initializes the transactions of a producer only once.
        producer = self._new_producer()
        try:
            # Without a connection, init_transactions waits 500 ms before it looks for one again.
            learn_leaders(producer, [self._destinations.errors], self._timeout)
            producer.init_transactions(self._timeout)
        except KafkaException as error:
            refuse_lost(error.args[0])
            raise failure_of(error.args[0], "can't begin transactions") from error
        self._producer = producer

    def commit(
        self,
        commits: Sequence[TaskCommit],
        marked: Sequence[TaskPosition] = (),
        marks: Sequence[SnapshotMark] = (),
    ) -> None:
        """Send everything in one transaction. Raises Unavailable: the changelogs show whether it was committed.

        After a commit that the client may have repeated, the group is no longer open.

        Args:
            marked: positions to commit to the marker group.
            marks: marks of the snapshot that is about to be written.
        """
        producer = self._producer
        if producer is None:
            raise Unavailable("nothing was committed: the group must be opened first")
        places = {(commit.changelogs.internal, commit.changelogs.partition) for commit in commits}
        assert len(places) == len(commits), (
            "two positions of a commit are of the same task: one would replace the other"
        )
        try:
            # librdkafka does this locally; the coordinator learns of the transaction with its first partition.
            producer.begin_transaction()
            queue = SendQueue(producer, self._timeout, self._transaction_seconds, self._consumer)
            for commit in commits:
                send(queue, commit, self._destinations)
                # After the rows, in the same partition: a follower of the changelog has all rows of a commit when it
                # finds the position.
                place, position = commit.changelogs, commit.position.to_json()
                queue.produce(place.internal, position, POSITION, place.partition, timestamp=commit.timestamp)
            for mark in marks:
                queue.produce(mark.topic, None, MARK, mark.partition, timestamp=mark.timestamp, headers=mark.headers)
            if marked:
                self._mark(producer, marked)
            # Before `commit_transaction`, which would send the rest as well: its duration then shows whether EndTxn was
            # repeated, and a broker that accepts nothing is noticed in time.
            queue.drain()
            if self._retries.has_repeated(producer, lambda: producer.commit_transaction(self._timeout)):
                log.warning(
                    "the client repeated requests of a successful commit: opening the group again, so that a late "
                    "copy of a request can't end the next transaction (the job with %s)",
                    self._destinations.errors,
                )
                self._producer = None
        except DeadlineExceeded as error:
            _stuck.append(producer)
            # The other thread may still be in the call, so neither an abort nor the object's end is safe.
            self._producer = None
            raise Unavailable(
                f"nothing was committed: the broker did not accept the offsets within {_OFFSETS_SECONDS:.0f} s"
            ) from error
        # It keeps its type, by which the loop makes commits smaller. If it became Unavailable, the same commit would be
        # repeated forever.
        except TransactionTooLong:
            raise
        except KafkaException as error:
            cause = _cause(producer, error.args[0])
            refuse_lost(cause)
            self._abort(producer, cause)
            if not is_forbidden(cause):
                self._refuse_missing(producer, commits)
            raise failure_of(cause, "the transaction was not committed") from error
        except Unavailable as error:
            # A producer that failed for good sends nothing, which looks like an outage of the broker.
            refuse_lost(_cause(producer, KafkaError(KafkaError._STATE)))
            self._refuse_missing(producer, commits)
            raise Unavailable(f"the transaction was not committed: {error}") from error

    def _mark(self, producer: Producer, positions: Sequence[TaskPosition]) -> None:
        # If several tasks read a partition (a global table's), only one of them commits its offset.
        ends = {(topic, partition): (end, p.metadata()) for p in positions for topic, partition, end in p.ends}
        offsets = [TopicPartition(*place, end, metadata) for place, (end, metadata) in ends.items()]
        group = self._consumer.consumer_group_metadata()
        # On another thread, because the call may never return (see `_OFFSETS_SECONDS`), and the loop must not hang.
        self._bounded(_OFFSETS_SECONDS, lambda: producer.send_offsets_to_transaction(offsets, group, self._timeout))

    def discard(self) -> None:
        """Drop the producer and its unsent records. `fence` must follow."""
        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.purge()
        self._producer = None

    def _abort(self, producer: Producer, error: KafkaError) -> None:
        """Abort a transaction that can't be committed, because it hides later records until it ends."""
        if error.txn_requires_abort():
            try:
                producer.abort_transaction(self._timeout)
            except KafkaException as failure:
                refuse_lost(_cause(producer, failure.args[0]))

    def _refuse_missing(self, producer: Producer, commits: Sequence[TaskCommit]) -> None:
        """Check whether a commit failed because a topic is gone (TopicChanged) or not accessible (NotAuthorized)."""
        written = {self._destinations.errors, self._destinations.late, *self._destinations.repartitions.values()}
        for commit in commits:
            sent = {output.target for output in commit.result.outputs}
            written |= commit.changelogs.destinations() | {self._destinations.outputs.get(to, to) for to in sent}
        with suppress(KafkaException):
            known = producer.list_topics(timeout=10.0).topics
            for topic in sorted(written - known.keys()) if known else ():
                error = producer.list_topics(topic, timeout=10.0).topics[topic].error
                if error is not None and is_forbidden(error):
                    raise failure_of(error, f"can't write {topic}")
                if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicChanged(topic_gone(topic))


def _cause(producer: Producer, error: KafkaError) -> KafkaError:
    """Return the cause of a failed transaction, if the call reported only that it has failed."""
    if error.code() not in (KafkaError._STATE, KafkaError._FATAL):
        return error
    try:
        # This call is refused. If the transaction must be aborted, the refusal has the error that caused it.
        producer.begin_transaction()
    except KafkaException as refused:
        first: KafkaError = refused.args[0]
        return error if first.code() == KafkaError._STATE else first
    return error
