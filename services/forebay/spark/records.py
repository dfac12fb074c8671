"""Reading a range of a partition as Arrow batches, in a Spark task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay.codec import DecodeError
from forebay.kafka.errors import KafkaUnavailable, from_kafka, is_group_refusal
from forebay.kafka.partition_ends import watermarks
from forebay.kafka.settings import KafkaSettings
from forebay.spark.decoding import Decoding
from forebay.spark.errors import OffsetsDeleted
from forebay.spark.metrics import Measures
from forebay.spark.ranges import Range
from forebay.spark.side_records import split_headers
from forebay.spark.source_options import Mode, SourceOptions

_POLL_SECONDS = 0.5
_SILENT_SECONDS = 120.0
_WATERMARK_SECONDS = 20.0
_FETCH = 2_000
BATCH_ROWS = 5_000
BATCH_BYTES = 16 * 1024 * 1024
"""Bytes of keys and values after which a batch ends, because 5,000 large records would not fit into memory."""
UNFIT = ValueError, TypeError, ArithmeticError
"""Errors that conversions, including Arrow's, raise for a value that its column can't hold."""

Row = list[Any]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads ranges as rows of one schema. It can be pickled.

    Args:
        options: Options of the read.
        key: Decoding of keys.
        value: Decoding of values.
        schema: Columns of the DataFrame.
        measures: The sums to which the numbers of records and bytes are added.
    """

    options: SourceOptions
    key: Decoding
    value: Decoding
    schema: StructType
    measures: Measures

    def read(self, item: Range) -> Iterator[pa.RecordBatch]:
        """Yield the committed records of a range.

        Raises:
            DecodeError: A record can't be decoded and the mode is `fail`.
            KafkaUnavailable, KafkaRefused: The broker can't be reached, or refuses the request.
        """
        row_of = self._rows(item.topic)
        arrow = to_arrow_schema(self.schema, timezone="UTC")
        rows: list[Row] = []
        size = 0
        messages = committed_messages(
            self.options.settings, item, self.measures, fails_on_loss=self.options.fails_on_loss
        )
        for message in messages:
            row = row_of(message)
            if row is not None:
                rows.append(row)
                size += len(message)
            if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
                yield from record_batches(rows, arrow, self._without_misfit)
                rows, size = [], 0
        yield from record_batches(rows, arrow, self._without_misfit)

    def _without_misfit(self, row: Row, error: Exception) -> Row | None:
        key, value, topic, partition, offset, *others = row
        problem = self._problem(error, topic, partition, offset)
        if problem is None:
            return None
        if key is None and value is None:
            raise error
        # The key remains, unless it is the key that its column can't hold.
        readable_key = None if value is None else key
        return [readable_key, None, topic, partition, offset, *others[:-1], problem]

    def _problem(self, error: Exception, topic: Any, partition: Any, offset: Any) -> str | None:
        """Return the text of the error column for a record that can't be decoded, or None to skip the record.

        Raises:
            DecodeError: The mode is `fail`.
        """
        match self.options.mode:
            case Mode.FAIL:
                raise DecodeError(
                    f"{topic}-{partition} offset {offset} can't be decoded: {error}. "
                    'Set option("mode", "skip") to leave such records out, or "column" to see them'
                ) from error
            case Mode.SKIP:
                return None
            case Mode.COLUMN:
                return str(error)

    def _rows(self, topic: str) -> Callable[[Message], Row | None]:
        settings, mode, with_headers = self.options.settings, self.options.mode, self.options.with_headers
        side = self.options.side
        read_key, read_value = self.key.reader(settings, topic), self.value.reader(settings, topic)

        def row_of(message: Message) -> Row | None:
            data, text = message.value(), message.key()
            problem = None
            key = value = None
            try:
                key = None if text is None else read_key(text)
                value = None if data is None else read_value(data)
            except (DecodeError, *UNFIT) as error:
                problem = self._problem(error, message.topic(), message.partition(), message.offset())
                if problem is None:
                    return None
            place = message.topic(), message.partition(), message.offset(), message.timestamp()[1] * 1_000
            row: Row = [key, value, *place]
            if side is not None:
                headers, facts = split_headers(side, message)
                row += [_pairs(headers), facts] if with_headers else [facts]
            elif with_headers:
                row.append(_pairs(message.headers() or ()))
            if mode is Mode.COLUMN:
                row.append(problem)
            return row

        return row_of


def _pairs(headers: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value} for name, value in headers]


def committed_messages(
    settings: KafkaSettings, item: Range, measures: Measures, *, fails_on_loss: bool = True
) -> Iterator[Message]:
    """Yield the committed messages of a range.

    Aborted records and transaction markers occupy offsets, but they are not returned as messages. The numbers of
    messages and bytes are added to `measures`.

    Raises:
        OffsetsDeleted: Retention deleted offsets while they were being read, and `fails_on_loss` is set. If it is not
            set, the remaining messages are read.
        KafkaUnavailable, KafkaRefused: The broker can't be reached, or refuses the request.
    """
    consumer = Consumer(settings.consumer())
    consumer.assign([TopicPartition(item.topic, item.partition, item.start)])
    heard = time.monotonic()
    next_offset = item.start
    records = size = 0
    waited = 0.0
    try:
        while next_offset < item.end:
            began = time.monotonic()
            messages = consumer.consume(_FETCH, _POLL_SECONDS)
            waited += time.monotonic() - began
            for message in messages:
                heard = time.monotonic()
                error = message.error()
                if error is None:
                    offset = message.offset() or 0
                    # After a leader election, the client may return records a second time. Records after the end of
                    # this range belong to the next range.
                    if next_offset <= offset < item.end:
                        records += 1
                        size += len(message) + len(message.key() or b"")
                        yield message
                    next_offset = max(next_offset, offset + 1)
                elif error.code() == KafkaError._PARTITION_EOF:
                    next_offset = max(next_offset, message.offset() or 0)
                elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                    if fails_on_loss:
                        raise OffsetsDeleted(
                            f"offset {next_offset} of {item.topic}-{item.partition} was deleted while it was being "
                            "read. Set failOnDataLoss=false to continue with the records that are left"
                        )
                    next_offset = _skip_deleted(consumer, item, next_offset)
                elif error.fatal() or not (error.retriable() or is_group_refusal(error)):
                    raise from_kafka(KafkaException(error), f"can't read {item.topic}-{item.partition}")
            if time.monotonic() - heard > _SILENT_SECONDS:
                raise KafkaUnavailable(
                    f"{settings.bootstrap_servers} sent nothing of {item.topic}-{item.partition} for "
                    f"{_SILENT_SECONDS:.0f} s, though it has records up to offset {item.end - 1}"
                )
    finally:
        consumer.close()
        topic = item.topic
        measures.add(
            {("records_read", topic): records, ("bytes_read", topic): size, ("read_wait_seconds", topic): waited}
        )


def _skip_deleted(consumer: Consumer, item: Range, next_offset: int) -> int:
    """Assign the consumer to the first offset that still exists, and return this offset."""
    try:
        begin, end = watermarks(consumer, TopicPartition(item.topic, item.partition), _WATERMARK_SECONDS)
    except KafkaException as error:
        raise from_kafka(error, f"can't look up the first offset of {item.topic}-{item.partition}") from error
    if end < item.end:
        # The topic was recreated, so its offsets are those of other records.
        return item.end
    offset = max(next_offset, begin)
    consumer.assign([TopicPartition(item.topic, item.partition, offset)])
    return offset


def record_batches(
    rows: Sequence[Row], schema: pa.Schema, without_misfit: Callable[[Row, Exception], Row | None]
) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches.

    Args:
        rows: The rows.
        schema: Their columns.
        without_misfit: Called with a row that has a value that its column can't hold, and with the error. It returns
            the row without this value, or None to skip the row.
    """
    if not rows:
        return
    try:
        yield record_batch(rows, schema)
    except UNFIT as error:
        if len(rows) > 1:
            # Arrow does not report which row it refuses. Bisection needs few attempts to find the row, and batches
            # without such a row have no additional cost.
            half = len(rows) // 2
            yield from record_batches(rows[:half], schema, without_misfit)
            yield from record_batches(rows[half:], schema, without_misfit)
        elif (row := without_misfit(rows[0], error)) is not None:
            yield from record_batches([row], schema, without_misfit)


def record_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as an Arrow batch."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )
