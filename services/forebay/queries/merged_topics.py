"""Reads the committed records of several topics, merged by their timestamps."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from forebay.codec import Unavailable
from forebay.kafka.errors import ends_reading
from forebay.kafka.settings import KafkaSettings
from forebay.processor.messages import Message
from forebay.queries.first_offsets import partitions_of

_POLL_SECONDS = 0.1
_POLLED = 500
_SILENT_POLLS = 20
_MOST_WAITING = 1_000
"""Maximum records of a partition that wait for other partitions. Above it, the partition is paused."""
Place = tuple[str, int]


class _Queue:
    """Records of a partition that wait for their turn."""

    def __init__(self) -> None:
        self.records: deque[Message] = deque()
        self.is_at_end = False
        self.is_paused = False
        self.next = 0


class MergedTopics:
    """An iterator of batches of records of several topics. It yields None after 2 seconds without records.

    The record with the smallest timestamp comes first. While a partition is not read to its end, records of other
    partitions wait for its next record.

    Raises:
        Unavailable: the broker can't be reached, or has no such topic.
    """

    def __init__(self, kafka: KafkaSettings, topics: Sequence[str], from_beginning: bool) -> None:
        options = {"group.id": f"forebay-sql-{uuid.uuid4().hex}", "enable.auto.commit": False}
        options |= {"enable.partition.eof": True}
        self._consumer = Consumer(kafka.consumer(**options, **{"isolation.level": "read_committed"}))
        self._queues: dict[Place, _Queue] = {}
        self.partitions = 0
        """The largest number of partitions of a topic."""
        try:
            by_topic = [partitions_of(self._consumer, topic, from_beginning) for topic in topics]
            self.partitions = max(map(len, by_topic))
            places = [place for places in by_topic for place in places]
            self._consumer.assign(places)
        except (KafkaException, Unavailable) as error:
            self._consumer.close()
            raise Unavailable(f"{', '.join(topics)} can't be followed: {error}: retry") from error
        self._queues = {(place.topic, place.partition): _Queue() for place in places}

    def __iter__(self) -> Iterator[list[Message] | None]:
        silent = 0
        while True:
            for message in self._consumer.consume(_POLLED, _POLL_SECONDS):
                self._take(message)
            batch = list(self._merge())
            silent = 0 if batch else silent + 1
            if batch:
                yield batch
            elif silent % _SILENT_POLLS == 0:
                yield None

    def _take(self, message: Any) -> None:
        """Queue a record, or note the end of a partition. Raises Unavailable."""
        place, error = (message.topic(), message.partition()), message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._queues[place].is_at_end = True
            elif error.fatal() or ends_reading(error):
                raise Unavailable(f"{place[0]}-{place[1]} can't be followed any more: {error}: send the query again")
            return
        queue, offset = self._queues[place], message.offset()
        if offset < queue.next:
            return  # after a leader election, the client may return records again
        # A partition that had been read to its end has records again, so the merge has to wait for it.
        queue.next, queue.is_at_end = offset + 1, False
        queue.records.append(cast(Message, message))
        # Another partition is behind. Without a limit, the records of this one would fill the memory of the server.
        if len(queue.records) > _MOST_WAITING and not queue.is_paused:
            self._pause(place, is_paused=True)

    def _merge(self) -> Iterator[Message]:
        """Yield records as long as no unread record could have a smaller timestamp."""
        while all(queue.records or queue.is_at_end for queue in self._queues.values()):
            heads = [(queue.records[0].timestamp()[1], place) for place, queue in self._queues.items() if queue.records]
            if not heads:
                return
            _, place = min(heads)
            queue = self._queues[place]
            yield queue.records.popleft()
            if queue.is_paused and len(queue.records) < _MOST_WAITING // 2:
                self._pause(place, is_paused=False)

    def _pause(self, place: Place, *, is_paused: bool) -> None:
        self._queues[place].is_paused = is_paused
        change = self._consumer.pause if is_paused else self._consumer.resume
        change([TopicPartition(*place)])

    def close(self) -> None:
        """Stop reading the topics."""
        self._consumer.close()
