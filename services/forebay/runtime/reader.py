"""Reads offset ranges of a task's partitions with one consumer that stays at its place from batch to batch."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from forebay.kafka.errors import failed, is_forbidden
from forebay.processor.messages import Message
from forebay.runtime.batch import Range
from forebay.runtime.errors import OffsetsLost, Unavailable

log = logging.getLogger(__name__)

_FETCH = 5_000
_POLL_SECONDS = 0.2

Partition = tuple[str, int]


class RangeReader:
    """Reads ranges; a range ends by a record at or beyond its end, or by the partition's end there.

    Transaction markers take offsets but are never delivered, so the last offset of a range may not exist.

    Args:
        consumer: read_committed, with partition EOF events and auto.offset.reset=error.
        stall_seconds: how long nothing may arrive before the batch is given up.
    """

    def __init__(self, consumer: Consumer, stall_seconds: float = 60.0) -> None:
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._assigned: tuple[Partition, ...] = ()
        self._waiting: dict[Partition, deque[KafkaMessage]] = {}
        self._reached: dict[Partition, int] = {}
        self._next: dict[Partition, int] = {}

    def read(self, ranges: Sequence[Range]) -> list[Iterator[Message]]:
        """Give one stream per range, to be read side by side or one after the other, once."""
        self._position(ranges)
        return [self._stream(item) for item in ranges]

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()

    def _position(self, ranges: Sequence[Range]) -> None:
        partitions = tuple((item.topic, item.partition) for item in ranges)
        if partitions != self._assigned:
            self._assigned = partitions
            self._consumer.assign([TopicPartition(item.topic, item.partition, item.start) for item in ranges])
            for item in ranges:
                self._restart(item)
            return
        for item in ranges:
            if self._next[item.topic, item.partition] != item.start:
                self._seek(item)

    def _seek(self, item: Range) -> None:
        try:
            self._consumer.seek(TopicPartition(item.topic, item.partition, item.start))
        except KafkaException as error:
            self._assigned = ()
            raise Unavailable(f"{item.topic}-{item.partition}: can't seek to {item.start}: {error}") from error
        self._restart(item)

    def _restart(self, item: Range) -> None:
        partition = (item.topic, item.partition)
        self._waiting[partition] = deque()
        self._reached[partition] = item.start
        self._next[partition] = item.start

    def _stream(self, item: Range) -> Iterator[Message]:
        partition = (item.topic, item.partition)
        waiting, end = self._waiting[partition], item.end
        if item.start < end:
            self._next[partition] = -1
            while True:
                while waiting:
                    offset = waiting[0].offset()
                    assert offset is not None
                    if offset >= end:
                        break
                    yield waiting.popleft()  # type: ignore[misc]
                if self._reached[partition] >= end:
                    break
                self._fetch(item)
        self._next[partition] = end

    def _fetch(self, item: Range) -> None:
        deadline = time.monotonic() + self._stall_seconds
        while True:
            messages = self._consumer.consume(_FETCH, 0) or self._first()
            for message in messages:
                self._take(message)
            if messages:
                return
            if time.monotonic() > deadline:
                self._explain_stall(item)

    def _first(self) -> list[KafkaMessage]:
        """Wait for one record: consume() itself would wait until it has as many as it may give."""
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _take(self, message: KafkaMessage) -> None:
        error = message.error()
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            self._refuse(error, topic, number)
            return
        assert topic is not None
        assert number is not None
        assert offset is not None
        partition = (topic, number)
        if partition not in self._reached or offset < self._reached[partition]:
            return
        if error is not None:
            self._reached[partition] = offset
            return
        self._waiting[partition].append(message)
        self._reached[partition] = offset + 1

    def _refuse(self, error: KafkaError, topic: str | None, number: int | None) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            assert topic is not None
            assert number is not None
            raise self._lost(topic, number)
        if error.fatal() or is_forbidden(error):
            raise failed(error, f"can't read {'the input' if topic is None else f'{topic}-{number}'}")
        log.warning("reading %s-%s: %s: still trying", topic, number, error)

    def _lost(self, topic: str, number: int) -> OffsetsLost:
        wanted = self._reached.get((topic, number), -1)
        low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10.0)
        return OffsetsLost(
            f"{topic}-{number}: offset {wanted} is wanted, but the topic holds {low} to {high}: records were deleted "
            "before they were read (retention, truncation, topic recreated). Restore them, or start over with "
            "`forebay reset`; give topics with old event times retention.ms=-1"
        )

    def _explain_stall(self, item: Range) -> None:
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(item.topic, item.partition), timeout=10.0)
        except KafkaException as error:
            raise Unavailable(
                f"{item.topic}-{item.partition}: no record for {self._stall_seconds} s: {error}"
            ) from error
        reached = self._reached[item.topic, item.partition]
        if low > reached or high < item.end:
            raise OffsetsLost(
                f"{item.topic}-{item.partition}: offsets {reached} to {item.end} are wanted, but the topic holds "
                f"{low} to {high}: it was truncated or recreated. Restore it, or start over with `forebay reset`"
            )
        raise Unavailable(f"{item.topic}-{item.partition}: no record for {self._stall_seconds} s at offset {reached}")
