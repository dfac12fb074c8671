"""What a task of the sink does: one transaction per partition and batch, at most once ever."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from forebay.kafka.errors import from_kafka
from forebay.kafka.leaders import learn_leaders
from forebay.runtime.errors import TransactionTooLong
from forebay.runtime.worker.deadline import within
from forebay.runtime.worker.send_queue import SendQueue
from forebay.spark.sink_markers import Marker, Markers
from forebay.spark.sink_records import Digest, SinkRecord

_SECONDS = 60.0
_POLL_SECONDS = 0.2
_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class BatchRefused(Exception):
    """The sink can't prove that a batch would be written exactly once; says why, and what to do."""


class AttemptFenced(Exception):
    """Another attempt of the same task has taken over; nothing of this one was committed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a partition's part of a batch.

    Args:
        was_first: whether the task had to look for earlier attempts of the batch.
        is_written: whether this task wrote the rows; otherwise it compared them with those of an earlier attempt.
        size: bytes of keys and values.
        commit_seconds: from the last row to the commit; 0: nothing was committed.
    """

    partition: int
    rows: int
    was_first: bool = False
    is_written: bool = False
    size: int = 0
    commit_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionWriter:
    """Writes a Spark partition's part of a batch.

    The order is what makes it exact: `init_transactions` fences every earlier attempt of this partition, and ends its
    transaction, before the marker is read. So the marker can't change any more until this attempt commits, or is fenced
    itself. Each attempt has a producer of its own, used for one transaction: a repeated EndTxn of it that arrives late
    meets a newer epoch, and changes nothing (see GroupProducer in forebay.runtime.worker.transaction).

    A repeated batch must be cut into the same partitions as before, but a task does not know their number. So the
    marker describes what was committed. Before a task of another run writes, all parts of the batch that an earlier run
    committed must have been verified: the task that has such a part now compares it, and puts its run in the marker.

    Args:
        batch: the batch's number; Spark repeats only the latest one.
        run: of the query; attempts of one run see the same partitions.
        is_new: whether no other run can have used these markers.
        schema_ids: of keys and values.
    """

    markers: Markers
    partition: int
    batch: int
    run: str
    is_new: bool = False
    schema_ids: tuple[int, int] = (0, 0)
    transaction_seconds: float = 300.0
    repeat_seconds: float = 300.0
    writes_unmarked: bool = False

    def write(self, records: Iterable[SinkRecord]) -> Outcome:
        """Commit the records, or verify them if an earlier attempt committed them.

        Raises:
            BatchRefused, AttemptFenced, ValueMismatch: nothing was committed. KafkaUnavailable, KafkaRefused: the
            transaction may have been committed, which the next attempt finds out.
        """
        consumer = self.markers.consumer(self.partition)
        try:
            iterator = iter(records)
            first = next(iterator, None)
            # An empty part needs no transaction, and Spark may have many of them. Partition 0 writes a marker even
            # then, so that every batch leaves one.
            if first is None and self.partition:
                return self._skip(consumer)
            return self._write(consumer, _chain(first, iterator))
        finally:
            consumer.close()

    def _skip(self, consumer: Consumer) -> Outcome:
        """Write nothing: only partition 0 has a marker for a part without records."""
        marker = self.markers.read(consumer)
        # An earlier attempt may have had rows here, which this one has in another partition: it would write them twice.
        self._refuse_later(marker, self.partition)
        if marker is not None and marker.batch == self.batch:
            self._verify(marker, Digest())
        return Outcome(self.partition, 0)

    def _write(self, consumer: Consumer, records: Iterator[SinkRecord]) -> Outcome:
        # Before the marker is read: no earlier attempt can change the marker after this.
        producer = self._open(self.partition)
        marker = self.markers.read(consumer)
        self._refuse_later(marker, self.partition)
        if marker is not None and marker.batch == self.batch:
            digest = Digest(self.schema_ids)
            for record in records:
                digest.add(record)
            self._verify(marker, digest)
            # Within a run, Spark repeats a task with the same partitions, so the marker needs no change.
            is_of_other_run = marker.run != self.run
            # The rows are there already. Only this run's name is written to the marker, for the tasks that wait for it.
            seconds = self._commit(producer, consumer, digest, iter(())) if is_of_other_run else 0.0
            return Outcome(self.partition, digest.rows, is_of_other_run, commit_seconds=seconds)
        # This run committed the batch before, so Spark has finished it, and this batch can't have been begun by
        # an earlier run.
        is_later = marker is not None and (marker.run, marker.batch) == (self.run, self.batch - 1)
        was_first = not is_later and not self.is_new
        if was_first:
            self._await_verification()
        digest = Digest(self.schema_ids)
        seconds = self._commit(producer, consumer, digest, records)
        return Outcome(self.partition, digest.rows, was_first, True, digest.size, seconds)

    def _open(self, partition: int) -> Producer:
        """Return a producer that has fenced all earlier ones of a partition, and ended their transactions."""
        options = {
            "transactional.id": self.markers.name(partition),
            "transaction.timeout.ms": int(self.transaction_seconds * 1_000),
        }
        producer = Producer(self.markers.settings.producer(**options))
        deadline = time.monotonic() + _SECONDS
        # The broker refuses while it still ends the transaction of an earlier attempt.
        while True:
            try:
                learn_leaders(producer, [self.markers.topic], _SECONDS)
                producer.init_transactions(_SECONDS)
                return producer
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise self._failure(error, "can't begin transactions") from error
                time.sleep(_POLL_SECONDS)

    def _commit(self, producer: Producer, consumer: Consumer, digest: Digest, records: Iterator[SinkRecord]) -> float:
        """Write the records and the marker in a transaction. Return the time from the last record to the commit (s)."""
        topic = self.markers.topic
        try:
            producer.begin_transaction()
            try:
                queue = SendQueue(producer, _SECONDS, self.transaction_seconds)
                for record in records:
                    digest.add(record)
                    queue.produce(
                        topic,
                        record.value,
                        record.key,
                        record.partition,
                        timestamp=record.timestamp,
                        headers=record.headers,
                    )
                # Logic of the query runs until here. What follows is the time of the sink alone.
                ended = time.monotonic()
                queue.drain()
                marker = Marker(self.batch, self.run, digest.rows, digest.text, self.schema_ids)
                group = consumer.consumer_group_metadata()
                # The call may hang if the broker goes away, regardless of its timeout (librdkafka issue 5456).
                offsets = [marker.offset(topic)]
                within(_SECONDS, lambda: producer.send_offsets_to_transaction(offsets, group, _SECONDS))
                producer.commit_transaction(_SECONDS)
                return time.monotonic() - ended
            except BaseException:
                with suppress(KafkaException):
                    # Discard the queued records. If they stay in the queue, the abort waits until they are sent.
                    producer.purge()
                    producer.abort_transaction(_SECONDS)
                raise
        except TransactionTooLong as error:
            raise BatchRefused(
                f"{self._where}: the transaction took longer than {self.transaction_seconds:.0f} s and was aborted: "
                "set transactionTimeoutMs (the broker's limit is transaction.max.timeout.ms), or use smaller batches "
                "or more partitions"
            ) from error
        except KafkaException as error:
            raise self._failure(error, "the transaction was not committed") from error

    def _verify(self, marker: Marker, digest: Digest) -> None:
        """Refuse a part of the batch that differs from what an earlier attempt committed. Raises BatchRefused."""
        if marker.holds(digest):
            return
        ids = ""
        if marker.schema_ids != self.schema_ids:
            ids = (
                " The schema changed meanwhile, which may be the only difference: for this batch, set keySchemaId and "
                f"valueSchemaId to the ids {marker.schema_ids} of the earlier attempt (0: none)."
            )
        raise BatchRefused(
            f"{self._where}: an earlier attempt committed {marker.rows} rows, now there are {digest.rows}, or their "
            "content differs, so the batch can't be completed exactly once. Nothing of this part was written. Start "
            "the query with the number of partitions that it had (spark.sql.shuffle.partitions, cores, repartition), "
            f"and make sure that it returns the same rows each time.{ids}"
        )

    def _refuse_later(self, marker: Marker | None, partition: int) -> None:
        if marker is not None and marker.batch > self.batch:
            raise BatchRefused(
                f"{self._where}: {self.markers.name(partition)} has already committed batch {marker.batch}, so the "
                "checkpoint is older than the topic. Nothing was written. Continue with the latest checkpoint; or "
                "start with a new one, which writes all records of its sources again"
            )

    def _await_verification(self) -> None:
        """Wait until no part of the batch is left that only another run has committed. Raises BatchRefused."""
        before: list[int] | None = None
        moved_at = time.monotonic()
        while True:
            # A killed task of an earlier run may have left a marker undecided for as long as its transaction may last.
            markers = self.markers.read_all(self._open)
            for partition, marker in markers.items():
                self._refuse_later(marker, partition)
            if not markers and self.batch and not self.writes_unmarked:
                raise BatchRefused(
                    f"{self._where}: the marker groups {self.markers.identity}-* are gone, so nothing says whether the "
                    "batch was written. Brokers delete them when a query has not run for offsets.retention.minutes "
                    "(7 days by default), or transactionalIdPrefix or the topic changed. Nothing was written. Check "
                    'the end of the topic; then start once with option("missingMarkers", "write")'
                )
            left = [n for n, marker in markers.items() if marker.batch == self.batch and marker.run != self.run]
            if not left:
                return
            now = time.monotonic()
            # Patience begins again with each partition that was verified: a large batch has many of them.
            if left != before:
                before, moved_at = left, now
            if now - moved_at > self.repeat_seconds:
                raise BatchRefused(
                    f"{self._where}: an earlier run committed the partitions {', '.join(map(str, left))} of this "
                    f"batch, and no task has verified them for {self.repeat_seconds:.0f} s, so they may not exist any "
                    "more. "
                    "Nothing of this part was written. Start the query with the number of partitions that it had "
                    "(spark.sql.shuffle.partitions, cores, repartition), and with at least as many cores"
                )
            time.sleep(_POLL_SECONDS)

    def _failure(self, error: KafkaException, doing: str) -> Exception:
        if error.args[0].code() in _FENCED:
            return AttemptFenced(
                f"{self._where}: another attempt of this task has taken over; nothing of this one was committed"
            )
        return from_kafka(error, f"{self._where}: {doing}")

    @property
    def _where(self) -> str:
        return f"topic {self.markers.topic}, batch {self.batch}, Spark partition {self.partition}"


def _chain(first: SinkRecord | None, rest: Iterator[SinkRecord]) -> Iterator[SinkRecord]:
    if first is not None:
        yield first
        yield from rest
