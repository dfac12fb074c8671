"""Reads `<application>.errors` from the positions up to which its records were sent again."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.committed_offsets import read_committed
from forebay.kafka.errors import failure_of
from forebay.kafka.partition_ends import watermarks
from forebay.kafka.settings import KafkaSettings

_SECONDS = 30.0
_BATCH = 1_000
_CHUNK = 100
_BATCH_BYTES = 32 * 1024 * 1024
_POLL_S = 1.0


class FailedTopic:
    """The reader of a job's `.errors` topic for a replay.

    Args:
        group: consumer group with the positions of the replay.
    """

    def __init__(self, kafka: KafkaSettings, group: str, topic: str) -> None:
        self._kafka = kafka
        self._group = group
        self._topic = topic

    def batches(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> Generator[list[Message], None, None]:
        """Yield the records between `starts` and `ends`, some at a time."""
        consumer = self.consumer()
        try:
            left = {number for number, end in ends.items() if end > starts[number]}
            consumer.assign([TopicPartition(self._topic, number, starts[number]) for number in left])
            batch: list[Message] = []
            size = 0
            while left:
                messages = consumer.consume(min(_CHUNK, _BATCH), _POLL_S)
                for message in messages:
                    number, error = message.partition() or 0, message.error()
                    if error is None and (message.offset() or 0) < ends[number]:
                        batch.append(message)
                        size += len(message.key() or b"") + len(message.value() or b"")
                    elif error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise failure_of(error, f"{self._topic} can't be read")
                    # The last offset before the end may be a transaction's marker, which is no message. The end of the
                    # partition is then reported instead.
                    if error is not None or (message.offset() or 0) + 1 >= ends[number]:
                        left.discard(number)
                if batch and (not left or not messages or len(batch) >= _BATCH or size >= _BATCH_BYTES):
                    yield batch
                    batch, size = [], 0
        except KafkaException as error:
            raise failure_of(error.args[0], f"{self._topic} can't be read") from error
        finally:
            consumer.close()

    def ends(self) -> dict[int, int]:
        """Return the present end of each partition. Raises Unavailable."""
        consumer = self.consumer()
        try:
            known = consumer.list_topics(self._topic, timeout=_SECONDS).topics[self._topic]
            return {number: self._bounds(consumer, number)[1] for number in known.partitions}
        except KafkaException as error:
            raise failure_of(error.args[0], f"{self._topic} can't be read") from error
        finally:
            consumer.close()

    def starts(self, numbers: Iterable[int], first: int | None) -> tuple[dict[int, int], bool]:
        """Return the first existing offset of each partition that was not sent yet, and whether no position is known.

        A position after the end of its partition is of a topic that was deleted, and is ignored. If only some
        partitions have positions, nothing of the others was sent.

        Args:
            first: first offset to send if no partition has a position.
        """
        consumer = self.consumer()
        try:
            places = read_committed(consumer, [TopicPartition(self._topic, number) for number in numbers], _SECONDS)
            bounds = {place.partition: self._bounds(consumer, place.partition) for place in places}
        except KafkaException as error:
            raise failure_of(error.args[0], f"{self._group} can't be read") from error
        finally:
            consumer.close()
        # A position beyond the end is of a topic that was deleted and created again.
        known = {place.partition: place.offset for place in places if 0 <= place.offset <= bounds[place.partition][1]}
        # If other partitions have positions, an earlier replay saw no record in this one, so all of its records are
        # new.
        begin = 0 if known or first is None else first
        return {number: max(low, known.get(number, begin)) for number, (low, _) in bounds.items()}, not known

    def _bounds(self, consumer: Consumer, number: int) -> tuple[int, int]:
        return watermarks(consumer, TopicPartition(self._topic, number), _SECONDS)

    def consumer(self) -> Consumer:
        """Return a new consumer of the replay's group."""
        return Consumer(self._kafka.consumer(**{"group.id": self._group}))
