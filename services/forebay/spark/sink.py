"""The writers of the exactly-once sink, which Spark calls on the driver and in tasks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicMissing
from forebay.kafka.registry import shared_registry
from forebay.spark.errors import OptionError
from forebay.spark.metrics import Measures
from forebay.spark.sink_encoding import choose_encoding
from forebay.spark.sink_markers import Markers
from forebay.spark.sink_options import SinkOptions, read_options
from forebay.spark.sink_records import RowPlan, SinkRecord, check_columns
from forebay.spark.sink_transaction import BatchRefused, Outcome, PartitionWriter
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch, python_rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_BATCH_ID, _QUERY_ID, _RUN_ID = "streaming.sql.batchId", "sql.streaming.queryId", "spark.jobGroup.id"
"""Local properties in which Spark's MicroBatchExecution passes these ids to tasks."""


@dataclass
class SinkMessage(WriterCommitMessage):
    """The report of a task to the driver."""

    identity: str
    run: str
    outcome: Outcome


def plan_rows(options: SinkOptions, row: StructType) -> RowPlan:
    """Check topic, schemas and columns, and return the plan that converts rows to records. Nothing is written.

    Raises:
        ColumnMismatch, OptionError: A column or an option does not fit. The message says what to change.
        TopicMissing, KafkaUnavailable, RegistryUnavailable, RegistryRefused: The topic or a schema can't be looked up.
    """
    check_columns(row, options.columns)
    partitions = TopicAdmin(options.settings).partitions([options.topic]).get(options.topic)
    if partitions is None:
        raise TopicMissing(
            f"there is no topic {options.topic}: create it, with the partitions that its readers need (kafka-topics "
            f"--create --topic {options.topic} --partitions N)"
        )
    registry = shared_registry(options.settings.registry())
    elsewhere = set(options.columns.values())
    spare = StructType([column for column in row.fields if column.name in elsewhere])
    key = None
    if options.key_columns:
        keys = StructType([row[name] for name in options.key_columns])
        key = choose_encoding(options.key, keys, StructType(), registry)
    rest = StructType([column for column in row.fields if column.name not in elsewhere])
    return RowPlan(
        value=choose_encoding(options.value, rest, spare, registry),
        key=key,
        headers=options.headers_column,
        timestamp=options.timestamp_column,
        partition=options.partition_column,
        partitions=partitions,
    )


@dataclass
class _Sink:
    options: SinkOptions
    plan: RowPlan
    measures: Measures

    def commit_part(
        self, batches: Iterator[RecordBatch], query: str, batch: int, run: str, *, is_new: bool
    ) -> SinkMessage:
        """Write the rows of a task, or verify them, and return the task's report."""
        context = TaskContext.get()
        assert context is not None
        markers = Markers(self.options.settings, self.options.topic, f"{self.options.prefix}-{query}")
        partition = context.partitionId()
        writer = PartitionWriter(
            markers=markers,
            partition=partition,
            batch=batch,
            run=run,
            is_new=is_new,
            schema_ids=self.plan.schema_ids,
            transaction_seconds=self.options.transaction_seconds,
            repeat_seconds=self.options.repeat_seconds,
            writes_unmarked=self.options.writes_unmarked,
        )
        where = f"topic {self.options.topic}, batch {batch}, Spark partition {partition}"
        outcome = writer.write(self._records(batches, where))
        self._measure(outcome, is_retry=context.attemptNumber() > 0)
        return SinkMessage(markers.identity, run, outcome)

    def _measure(self, outcome: Outcome, *, is_retry: bool) -> None:
        amounts = {"retries": int(is_retry), "rows_verified": outcome.rows}
        if outcome.is_written:
            amounts |= {"rows_verified": 0, "rows_written": outcome.rows, "bytes_written": outcome.size}
        seconds = {"commits": int(outcome.commit_seconds > 0), "commit_seconds": outcome.commit_seconds}
        topic = self.options.topic
        self.measures.add({(name, topic): amount for name, amount in {**amounts, **seconds}.items()})

    def _records(self, batches: Iterator[RecordBatch], where: str) -> Iterator[SinkRecord]:
        read = self.plan.reader()
        number = 0
        for batch in batches:
            for row in python_rows(batch, where):
                try:
                    record = read(row)
                except ValueMismatch as error:
                    keys = {name: row[name] for name in self.options.key_columns}
                    raise ValueMismatch(
                        f"{where}, row {number}{f' with the key {keys}' if keys else ''}: {error}; nothing of this "
                        "part of the batch was written"
                    ) from error
                yield record
                number += 1

    def check_parts(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        """Check that no other run committed a part of the batch that this run did not verify.

        Raises:
            BatchRefused: Another run did, so rows may have been written twice.
        """
        parts = [message for message in messages if isinstance(message, SinkMessage)]
        if not any(part.outcome.was_first for part in parts):
            return
        identity, run = parts[0].identity, parts[0].run
        markers = Markers(self.options.settings, self.options.topic, identity).read_all()
        left = [number for number, marker in markers.items() if marker.batch == batch and marker.run != run]
        if left:
            raise BatchRefused(
                f"topic {self.options.topic}, batch {batch}: another run of the query committed the partitions "
                f"{', '.join(map(str, left))} while this one was writing, so rows may have been written twice. Stop "
                "the other run; compare the topic with the sources, and start with a new checkpoint"
            )


class SinkStreamWriter(DataSourceStreamArrowWriter):
    """Writer of a streaming query's batches. Each partition's rows are written exactly once, in one transaction."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        batch, query, run = map(context.getLocalProperty, (_BATCH_ID, _QUERY_ID, _RUN_ID))
        if not batch or not query or not run:
            raise BatchRefused(
                "Spark passed no batch number to the task, which is needed to distinguish a repeated batch from a new "
                "one: use a trigger of micro-batches (processingTime, availableNow, once), not continuous or "
                "real-time mode"
            )
        return self._sink.commit_part(iterator, query, int(batch), run, is_new=False)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._sink.check_parts(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing, because each task has aborted its transaction, or the next attempt aborts it."""


class SinkWriter(DataSourceArrowWriter):
    """Writer of a DataFrame, with one transaction per partition.

    With the option `idempotencyKey`, a repetition of the write does not write rows twice.
    """

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink
        self._run = uuid.uuid4().hex

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        key = self._sink.options.idempotency_key
        return self._sink.commit_part(iterator, key or self._run, 0, self._run, is_new=not key)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.check_parts(messages, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing, because each task has aborted its transaction. Partitions that were committed remain."""


def create_stream_writer(
    options: Mapping[str, str], row: StructType, overwrite: bool, measures: Measures
) -> SinkStreamWriter:
    """Check the options and columns, and return the writer of a streaming query. Errors are those of `plan_rows`."""
    read = read_options(options)
    if overwrite:
        raise OptionError("a topic can't be overwritten: use the output mode append or update, not complete")
    if read.idempotency_key:
        raise OptionError("idempotencyKey is for df.write: a streaming query has its checkpoint; leave it out")
    return SinkStreamWriter(_Sink(read, plan_rows(read, row), measures))


def create_writer(options: Mapping[str, str], row: StructType, overwrite: bool, measures: Measures) -> SinkWriter:
    """Check the options and columns, and return the writer of a batch write. Errors are those of `plan_rows`."""
    read = read_options(options)
    if overwrite:
        raise OptionError('a topic can\'t be overwritten: write mode("append")')
    return SinkWriter(_Sink(read, plan_rows(read, row), measures))


__all__ = ["ColumnMismatch", "SinkStreamWriter", "SinkWriter", "create_stream_writer", "create_writer"]
