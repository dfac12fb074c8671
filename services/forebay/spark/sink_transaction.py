"""The transaction in which a task of the sink writes a partition of a batch, exactly once over all attempts."""

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
    """The sink can't guarantee that a batch is written exactly once. The message says why, and what to do."""


class AttemptFenced(Exception):
    """Another attempt of the same task has taken over. This attempt has committed nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of writing or verifying a partition of a batch.

    Args:
        partition: Number of the Spark partition.
        rows: Number of rows.
        was_first: Whether the task had to look for earlier attempts of the batch.
        is_written: Whether this task wrote the rows. If not, it compared them with the rows of an earlier attempt.
        size: Bytes of keys and values.
        commit_seconds: Time from the last row to the commit, or 0 if nothing was committed.
    """

    partition: int
    rows: int
    was_first: bool = False
    is_written: bool = False
    size: int = 0
    commit_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionWriter:
    """Writer of a Spark partition of a batch.

    Exactness depends on the order of the steps. `init_transactions` fences every earlier attempt of this partition and
    ends its transaction before the marker is read. The marker therefore can't change until this attempt commits or is
    fenced itself. Each attempt has its own producer and uses it for one transaction. If a copy of its EndTxn request
    arrives late, the producer epoch is newer, and the copy has no effect (see GroupProducer in
    forebay.runtime.worker.transaction).

    A repeated batch must have the same partitions as before, but a task does not know the number of partitions. The
    marker therefore describes the rows that were committed. Before a task of another run writes, every partition of the
    batch that an earlier run committed must be verified. The task that now has this partition compares its rows with
    the marker, and commits the marker again with the new run.

    Args:
        markers: The markers of the query.
        partition: Number of the Spark partition.
        batch: Number of the batch. Spark repeats only the latest batch.
        run: Run of the query. All attempts of a run have the same partitions.
        is_new: Whether no other run can have used these markers.
        schema_ids: Schema ids of keys and values.
        transaction_seconds: Longest time for which the transaction may be open.
        repeat_seconds: Longest time for which to wait until other tasks have verified their partitions.
        writes_unmarked: Whether a batch is written although the markers of earlier batches no longer exist.
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
            BatchRefused, AttemptFenced, ValueMismatch: Nothing was committed.
            KafkaUnavailable, KafkaRefused: The transaction may have been committed. The next attempt detects this.
        """
        consumer = self.markers.consumer(self.partition)
        try:
            iterator = iter(records)
            first = next(iterator, None)
            # An empty partition needs no transaction, and Spark may have many empty partitions. Only partition 0 always
            # writes a marker, so that every batch leaves at least one.
            if first is None and self.partition:
                return self._skip(consumer)
            return self._write(consumer, _chain(first, iterator))
        finally:
            consumer.close()

    def _skip(self, consumer: Consumer) -> Outcome:
        """Verify that an earlier attempt committed no rows in this empty partition either. Write nothing."""
        marker = self.markers.read(consumer)
        # An earlier attempt may have committed rows in this partition. If they are in another partition now, they would
        # be written twice.
        self._refuse_later(marker, self.partition)
        if marker is not None and marker.batch == self.batch:
            self._verify(marker, Digest())
        return Outcome(self.partition, 0)

    def _write(self, consumer: Consumer, records: Iterator[SinkRecord]) -> Outcome:
        # Open the producer before reading the marker. After that, no earlier attempt can change the marker.
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
            # The rows are already committed. Only the marker is committed again, with the name of this run, because
            # other tasks wait until this partition is verified.
            seconds = self._commit(producer, consumer, digest, iter(())) if is_of_other_run else 0.0
            return Outcome(self.partition, digest.rows, is_of_other_run, commit_seconds=seconds)
        # If this run committed the previous batch, no earlier run can have started this batch, because Spark completes
        # a batch before it starts the next one.
        is_later = marker is not None and (marker.run, marker.batch) == (self.run, self.batch - 1)
        was_first = not is_later and not self.is_new
        if was_first:
            self._await_verification()
        digest = Digest(self.schema_ids)
        seconds = self._commit(producer, consumer, digest, records)
        return Outcome(self.partition, digest.rows, was_first, True, digest.size, seconds)

    def _open(self, partition: int) -> Producer:
        """Return a producer that has fenced all earlier producers of a partition and ended their transactions."""
        options = {
            "transactional.id": self.markers.name(partition),
            "transaction.timeout.ms": int(self.transaction_seconds * 1_000),
        }
        producer = Producer(self.markers.settings.producer(**options))
        deadline = time.monotonic() + _SECONDS
        # The broker refuses the request while it is still ending the transaction of an earlier attempt.
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
                # The query's own logic runs while the records are read. Measure only the time of the sink.
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
        """Raise BatchRefused if the rows differ from the rows that an earlier attempt committed."""
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
        """Wait until this run has verified every partition of the batch that another run committed.

        Raises:
            BatchRefused: No partition was verified for `repeat_seconds`, or the markers are missing or newer.
        """
        before: list[int] | None = None
        moved_at = time.monotonic()
        while True:
            # If a task of an earlier run was killed, its marker would remain undecided until its transaction times out.
            # `_open` ends the transaction.
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
            # The wait starts again whenever a partition was verified, because a large batch has many partitions.
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
