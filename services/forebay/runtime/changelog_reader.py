"""Reads a task's rows back from its partition of every changelog."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.runtime.changelog import ChangelogRows
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.stores.table import Table

log = logging.getLogger(__name__)

_FETCH = 10_000
_POLL_SECONDS = 0.2
_LOG_SECONDS = 5.0
_TELL_SECONDS = 1.0
_READING = b"reading"


class TopicChangelog:
    """One task's partition of its changelogs (implements `Changelog`).

    Args:
        new_consumer: makes a read_committed consumer with partition end events; closed after each use.
        partition: the task's number.
        telling: whether the consumer's group is told how far reading came (see `restore_progress`).
        stall_seconds: how long nothing may arrive.
    """

    def __init__(
        self,
        name: str,
        new_consumer: Callable[[], Consumer],
        rows: ChangelogRows,
        partition: int,
        telling: bool = False,
        stall_seconds: float = 60.0,
    ) -> None:
        self._name = name
        self._new_consumer = new_consumer
        self._rows = rows
        self._partition = partition
        self._telling = telling
        self._stall_seconds = stall_seconds

    def restore(self, table: Table) -> TaskPosition | None:
        consumer = self._new_consumer()
        try:
            return self._read(consumer, table)
        except KafkaException as error:
            raise Unavailable(f"{self._name}: can't read the changelogs: {error}") from error
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, table: Table) -> TaskPosition | None:
        consumer.assign([TopicPartition(topic, self._partition, OFFSET_BEGINNING) for topic in self._rows.topics])
        table.clear()
        position: bytes | None = None
        reading = set(self._rows.topics)
        pace = Pace(self._name, consumer if self._telling else None)
        while reading:
            messages = consumer.consume(_FETCH, _POLL_SECONDS)
            pace.took(messages, self._stall_seconds)
            changes: dict[bytes, bytes | None] = {}
            for message in messages:
                error, topic = message.error(), message.topic() or ""
                if error is not None:
                    self._ended(error, topic, reading)
                    continue
                key = message.key() or b""
                if key == POSITION:
                    position = message.value()
                    continue
                row, value = self._rows.row(topic, key, message.value(), message.timestamp()[1])
                changes.pop(row, None)
                changes[row] = value
            table.apply(changes.items(), _READING)
            pace.tell()
        pace.done(len(table))
        return None if position is None else TaskPosition.from_json(position)

    def _ended(self, error: KafkaError, topic: str, reading: set[str]) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            reading.discard(topic)
        elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
            raise StateConflict(
                f"{self._name}: the changelog {topic} has no partition {self._partition}: the state can't be restored"
            )
        elif error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Unavailable(f"{self._name}: reading {topic}: {error}")
        else:
            log.warning("%s: reading %s: %s: still trying", self._name, topic, error)


class Pace:
    """Tells how far reading came: the log every few seconds, the consumer's group every second.

    Args:
        consumer: whose group is told; None: no group.
    """

    def __init__(self, name: str, consumer: Consumer | None) -> None:
        self._name = name
        self._consumer = consumer
        self._begun = self._heard = self._logged = self._told = time.monotonic()
        self._records = self._bytes = 0
        self._read: dict[tuple[str, int], tuple[int, int]] = {}

    def took(self, messages: Iterable[Message], stall_seconds: float) -> None:
        """Count what arrived. Raises Unavailable where nothing has for so long."""
        now, before = time.monotonic(), self._records
        for message in messages:
            if message.error() is None:
                place = message.topic() or "", message.partition() or 0
                _, size = self._read.get(place, (0, 0))
                self._read[place] = (message.offset() or 0) + 1, size + len(message)
                self._records += 1
                self._bytes += len(message)
        if self._records > before:
            self._heard = now
        elif now - self._heard > stall_seconds:
            raise Unavailable(f"{self._name}: nothing came from the changelogs for {stall_seconds:.0f} s")
        if now - self._logged > _LOG_SECONDS:
            self._logged = now
            log.info("%s: restoring: %s", self._name, self._figures(now))

    def tell(self) -> None:
        """Tell the group, once a second."""
        now = time.monotonic()
        if self._consumer is not None and self._read and now - self._told > _TELL_SECONDS:
            self._told = now
            offsets = [TopicPartition(*place, offset, str(size)) for place, (offset, size) in self._read.items()]
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def done(self, rows: int) -> None:
        """Tell the end: `rows` are there."""
        self._told = -math.inf
        self.tell()
        log.info("%s: restored %d rows: %s", self._name, rows, self._figures(time.monotonic()))

    def _figures(self, now: float) -> str:
        seconds = max(now - self._begun, 1e-3)
        return (
            f"{self._records} records in {seconds:.1f} s, {self._records / seconds:.0f} records/s, "
            f"{self._bytes / seconds / 1e6:.1f} MB/s"
        )
