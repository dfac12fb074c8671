"""Reads the tails of changelogs from the broker."""

from __future__ import annotations

import logging
from collections.abc import Callable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.leaders import learn_leaders
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.protocol.position import POSITION
from forebay.runtime.protocol.snapshot_mark import MARK, number_of
from forebay.runtime.task.tail import FETCH, Tail
from forebay.runtime.worker.deadline import leave
from forebay.runtime.worker.pace import Pace, Reached
from forebay.stores.keys import pack_time

_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 10.0

log = logging.getLogger(__name__)


def read_tails(
    name: str,
    tails: list[Tail],
    new_consumer: Callable[[], Consumer],
    commits_progress: bool = False,
    stall_seconds: float = 60.0,
) -> None:
    """Read every task's changelogs to their last stable offsets, and apply their rows.

    Args:
        name: name of the group in the log.
        new_consumer: creates a read_committed consumer with partition end events. It is closed after use.
        commits_progress: whether progress is committed to the consumer's group (see `restore_progress`).

    Raises:
        StateConflict: a changelog lacks the requested offsets or partition. Unavailable.
    """
    consumer = new_consumer()
    try:
        _Reading(name, tails, consumer, commits_progress, stall_seconds).run()
        # The format of the records is known only at the end (see `Tail.corrects_formats`).
        mistaken = [tail for tail in tails if tail.corrects_formats()]
        if mistaken:
            for tail in mistaken:
                tail.offsets = dict(tail.begins)
            log.info("%s: stores were converted in the meantime: reading their changelogs in their new format", name)
            _Reading(name, mistaken, consumer, commits_progress, stall_seconds).run()
    except KafkaException as error:
        raise Unavailable(f"can't read the changelogs: {error}") from error
    finally:
        leave(consumer)


class _Partition:
    """A task's partition of one changelog."""

    def __init__(self, tail: Tail, topic: str) -> None:
        self.tail = tail
        self.topic = topic
        self.waiting = tail.waiting
        self.prefix, self.is_stamped = tail.rows.form(topic)
        self.last: Message | None = None
        self.bytes = 0


class _Reading:
    def __init__(
        self, name: str, tails: list[Tail], consumer: Consumer, commits_progress: bool, stall_seconds: float
    ) -> None:
        self._tails = tails
        self._partitions = {
            (topic, tail.number): _Partition(tail, topic) for tail in tails for topic in tail.rows.topics
        }
        self._unread = set(self._partitions)
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._pace = Pace(name, consumer if commits_progress else None)

    def run(self) -> None:
        learn_leaders(self._consumer, (topic for topic, _ in self._partitions), _ANSWER_SECONDS)
        self._consumer.assign(
            [
                TopicPartition(topic, number, partition.tail.offsets.get(topic, OFFSET_BEGINNING))
                for (topic, number), partition in self._partitions.items()
            ]
        )
        while self._unread:
            records, size = self._take(self._consumer.consume(FETCH, 0) or self._first())
            self._pace.took(records, size, self._stall_seconds)
            for tail in self._tails:
                if tail.waits:
                    tail.apply()
            self._pace.commit(self._progress())
        for tail in self._tails:
            assert tail.is_forward, f"{tail.name}: a changelog ends before the offset at which reading it began"
            tail.finish()
        self._pace.finish(sum(len(tail.table) for tail in self._tails), self._progress())

    def _first(self) -> list[Message]:
        message = self._consumer.poll(_POLL_SECONDS)
        return [] if message is None else [message]

    def _take(self, messages: list[Message]) -> tuple[int, int]:
        """Add messages, millions in a restore, to the tails; return their number of records and bytes of values."""
        partitions, events, size = self._partitions, 0, 0
        for message in messages:
            if message.error() is not None:
                events += 1
                self._event(message)
                continue
            partition = partitions[message.topic(), message.partition()]  # type: ignore[index]
            partition.last = message
            key, value = message.key() or b"", message.value()
            # As `Tail.take` does, without a call for each record.
            if key == POSITION:
                partition.tail.newest = value or partition.tail.newest
                continue
            if value is not None:
                size += len(value)
                partition.bytes += len(value)
                if partition.is_stamped:
                    value = pack_time(message.timestamp()[1]) + value
            elif key == MARK:
                partition.tail.found_mark(partition.topic, number_of(message.headers()))
                continue
            # A later record of a row replaces an earlier one that still waits, so most superseded records never reach
            # the table.
            partition.waiting[partition.prefix + key] = value
        return len(messages) - events, size

    def _progress(self) -> Reached:
        for place, partition in self._partitions.items():
            if partition.last is not None:
                yield *place, (partition.last.offset() or 0) + 1, partition.bytes

    def _event(self, message: Message) -> None:
        """Handle the end of a partition, or an error."""
        error, place = message.error(), (message.topic() or "", message.partition() or 0)
        assert error is not None
        partition = self._partitions.get(place)
        tail = None if partition is None else partition.tail
        name = "" if tail is None else tail.name
        if error.code() == KafkaError._PARTITION_EOF and tail is not None:
            # The partition's end, not the offset after the last record, because a transaction ends with a marker,
            # which the client does not return.
            tail.offsets[place[0]] = message.offset() or 0
            # A read_committed consumer reports the end at the last stable offset, so no open transaction is passed
            # over.
            self._unread.discard(place)
        elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
            raise StateConflict(
                f"{name}: the changelog {place[0]} has no partition {place[1]}: it was deleted or created again. "
                "Restore it, or start over with `forebay reset`"
            )
        elif error.code() == KafkaError._AUTO_OFFSET_RESET and tail is not None:
            raise StateConflict(
                f"{name}: the changelog {place[0]}-{place[1]} does not reach back to offset "
                f"{tail.offsets.get(place[0], 0)}, where the checkpoint's snapshot ends: it was truncated or "
                "created again. Restore it, or move the checkpoint away and `forebay run --restore`"
            )
        elif error.fatal():
            raise Unavailable(f"{name}: reading {place[0]}: {error}")
        else:
            log.warning("%s: reading %s: %s: retrying", name, place[0], error)
