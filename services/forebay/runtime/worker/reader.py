"""Reads all input partitions of a task group with one consumer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import failure_of, is_forbidden
from forebay.kafka.partition_ends import watermarks
from forebay.processor.messages import Message
from forebay.runtime.errors import OffsetsLost, Unavailable
from forebay.runtime.protocol.gaps import NO_GAPS, AcceptedGaps
from forebay.runtime.task.inputs import MOST_WAITING, TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.runtime.worker.deadline import leave
from forebay.runtime.worker.ends import high_watermarks, last_stable
from forebay.runtime.worker.lost_clients import refuse_lost

log = logging.getLogger(__name__)

_FETCH = 5_000
_LOOK_SECONDS = 10.0
_NOTE_SECONDS = 0.005
"""Interval at which the ends of up to 16 partitions are recorded, which is the precision of measured latencies.

With more partitions, the interval is longer.
"""

Place = tuple[str, int]
PartitionQueue = InputPartition | RepartitionPartition


class GroupReader:
    """Reads records into the inputs of a group's tasks.

    Args:
        consumer: read_committed, with partition end events and auto.offset.reset=error; assigned here.
        admin: client that is asked for the partitions' ends.
        accepted: input partitions whose records may have been deleted before they were read.
    """

    def __init__(
        self,
        consumer: Consumer,
        admin: AdminClient,
        accepted: AcceptedGaps = NO_GAPS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._noted_at = float("-inf")
        self._ends: dict[Place, int] = {}
        """The ends that were recorded last."""
        self._polling = threading.Lock()
        self._note_seconds = _NOTE_SECONDS
        self._accepted = accepted
        self._consumer = consumer
        self._admin = admin
        self._queues: dict[Place, list[PartitionQueue]] = {}
        """A global table's partition is read once and passed to every task."""
        self._paused: set[Place] = set()
        self._unheard: dict[Place, int] = {}
        """Partitions, with their first offset, of which the consumer has returned neither a record nor an end yet."""
        self.bytes = 0
        """Approximate bytes of the records read, for the limit of a commit. The caller resets it."""

    def assign(self, inputs: Iterable[TaskInput]) -> None:
        """Begin to read each partition at its position. Raises Unavailable."""
        self._queues, self._ends = {}, {}
        for item in inputs:
            for queue in item.all_partitions:
                self._queues.setdefault((queue.topic, queue.partition), []).append(queue)
        self._paused.clear()
        self._note_seconds = max(_NOTE_SECONDS, _NOTE_SECONDS * sum(map(len, self._queues.values())) / 16)
        self._skip_gaps()
        # A global table's partition is read once for all tasks, from the earliest of their positions. Tasks that are
        # further skip the records that they have used.
        starts = {place: min(queue.next for queue in queues) for place, queues in self._queues.items()}
        # A partition counts as read only once the consumer has returned something of it (see `look`).
        self._unheard = starts
        self._consumer.assign([TopicPartition(*place, start) for place, start in starts.items()])

    def read(self, seconds: float, most: int) -> int:
        """Queue the records that have arrived, about `most` at a time; wait up to `seconds` for the first.

        Returns:
            The number of records.

        Raises:
            OffsetsLost: records were deleted before they were read. NotAuthorized.
        """
        with self._polling:
            messages = self._consumer.consume(min(most, _FETCH), 0)
            if not messages and seconds > 0:
                # `consume` with a timeout waits for as many records as it may return. `poll` waits only for the first.
                first = self._consumer.poll(seconds)
                self._note_wait()
                messages = [] if first is None else [first, *self._consumer.consume(min(most, _FETCH), 0)]
        queues, count, size = self._queues, 0, 0
        for message in messages:
            error = message.error()
            if error is not None:
                self._event(error, message)
                continue
            offset = message.offset()
            assert offset is not None
            for queue in queues[message.topic(), message.partition()]:  # type: ignore[index]
                queue.take(message, offset)  # type: ignore[arg-type]
            # Only the value: `len` of a message does not copy its bytes, and the limit is approximate.
            size += len(message)
            count += 1
        self.bytes += size
        self._note_ends()
        return count

    def _note_wait(self) -> None:
        """Record that no record has arrived until now in the partitions that are read to the end."""
        now = self._monotonic()
        if now - self._noted_at < self._note_seconds:
            return
        for queues in self._queues.values():
            for queue in queues:
                if queue.at_end:
                    queue.end_log.wait(now)

    def _note_ends(self) -> None:
        """Record the partitions' ends, from which the append times of later records are estimated."""
        now = self._monotonic()
        if now - self._noted_at < self._note_seconds:
            return
        self._noted_at = now
        self._ends = self._cached_ends()
        for place, end in self._ends.items():
            for queue in self._queues[place]:
                queue.end_log.observe(end, now, is_read=queue.at_end or queue.next >= end)

    def balance(self, inputs: Iterable[TaskInput]) -> None:
        """Pause partitions with many queued records, resume them later, and read records again that were cut.

        Records wait for other partitions, or because the logic is slower than the reader.
        """
        for item in inputs:
            for queue in item.partitions:
                self._pause(queue.topic, queue.partition)
            for repartition in item.repartitions:
                offset = repartition.rewind()
                if offset >= 0:
                    self._seek(repartition, offset)

    def has_all(self, item: TaskInput) -> bool:
        """Return whether all partitions are read to their last known ends, except paused ones."""
        return all(queue.is_read or (queue.topic, queue.partition) in self._paused for queue in item.all_partitions)

    def look(self) -> None:
        """Ask the broker for the ends of all partitions. Raises Unavailable.

        If the consumer has returned neither a record nor an end of a partition, the partition does not count as read,
        regardless of the admin client's answer. Otherwise its records could follow later records of other partitions.
        """
        ends = last_stable(self._admin, self._queues)
        self._unheard = {
            place: start
            for place, start in self._unheard.items()
            if not any(queue.at_end or queue.next > start for queue in self._queues[place])
        }
        for place, end in ends.items():
            if place in self._unheard:
                continue
            for queue in self._queues[place]:
                queue.end = end

    def seen_ends(self) -> dict[Place, int]:
        """Return the ends of partitions as the latest fetches reported them, without a request, on any thread.

        They include records of open transactions. A partition of which nothing was fetched is left out.
        """
        # The client serves one thread at a time. While the loop polls an idle topic again and again, another thread
        # may wait for minutes. It gets the ends that the loop has recorded, which are as old as the loop's poll.
        if not self._polling.acquire(blocking=False):
            return self._ends
        try:
            return self._cached_ends()
        finally:
            self._polling.release()

    def _cached_ends(self) -> dict[Place, int]:
        ends = {}
        for place in list(self._queues):
            # Another thread may have closed the consumer, or assigned other partitions.
            with suppress(KafkaException, RuntimeError):
                _, end = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
                if end >= 0:
                    ends[place] = end
        return ends

    def written_ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the ends of partitions, records of open transactions included. Raises Unavailable."""
        return high_watermarks(self._admin, places)

    def close(self) -> None:
        """Close the consumer."""
        leave(self._consumer)

    def _pause(self, topic: str, partition: int) -> None:
        place = topic, partition
        waiting = max(len(queue.queue) for queue in self._queues[place] if isinstance(queue, InputPartition))
        # Two thresholds, because librdkafka drops the fetched records of a paused partition, so pausing must be rare.
        if waiting > MOST_WAITING and place not in self._paused:
            self._paused.add(place)
            self._consumer.pause([TopicPartition(*place)])
        elif place in self._paused and waiting < MOST_WAITING // 2:
            self._paused.discard(place)
            self._consumer.resume([TopicPartition(*place)])

    def _seek(self, queue: RepartitionPartition, offset: int) -> None:
        assert queue.next == offset, f"{queue.topic}-{queue.partition}: the queue expects {queue.next}, not {offset}"
        try:
            self._consumer.seek(TopicPartition(queue.topic, queue.partition, offset))
        except KafkaException as error:
            raise Unavailable(f"{queue.topic}-{queue.partition}: can't read again from {offset}: {error}") from error

    def _event(self, error: KafkaError, message: KafkaMessage | Message) -> None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if error.code() == KafkaError._PARTITION_EOF:
            for queue in self._queues.get((topic or "", -1 if number is None else number), ()):
                if offset is not None:
                    queue.reach_end(offset)
        # The offset is gone. The consumer is configured to report it instead of skipping to another one
        # (`auto.offset.reset=error`).
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._lost(topic or "", number or 0)
        elif error.fatal():
            refuse_lost(error)
        elif is_forbidden(error):
            raise failure_of(error, f"can't read {'the input' if topic is None else f'{topic}-{number}'}")
        else:
            log.warning("reading %s-%s: %s: retrying", topic, number, error)

    def _skip_gaps(self) -> None:
        """Skip input records that were deleted before they were read, if this is accepted.

        This precedes the assignment, because a consumer that has met a missing offset can't seek any more.
        """
        for place, queues in self._queues.items():
            inputs = [queue for queue in queues if isinstance(queue, InputPartition)]
            if not inputs or place not in self._accepted:
                continue
            low, _ = self._bounds(place)
            wanted = min(queue.next for queue in inputs)
            if wanted < low:
                log.warning(
                    "%s-%d: offsets %d to %d were deleted before they were read: continuing at %d (--accept-gap)",
                    *(*place, wanted, low - 1, low),
                )
                for queue in inputs:
                    queue.skip(low)

    def _bounds(self, place: Place) -> tuple[int, int]:
        """Return the first offset and the end of a partition. Raises Unavailable."""
        try:
            return watermarks(self._consumer, TopicPartition(*place), _LOOK_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"can't look up the first offset of {place[0]}-{place[1]}") from error

    def _lost(self, topic: str, number: int) -> Exception:
        """Return the error to raise if an offset is missing: Unavailable if opening the group again skips the gap."""
        queues = self._queues.get((topic, number), [])
        wanted = min((queue.next for queue in queues), default=-1)
        low, high = self._bounds((topic, number))
        is_gap = wanted < low and any(isinstance(queue, InputPartition) for queue in queues)
        if is_gap and (topic, number) in self._accepted:
            return Unavailable(f"{topic}-{number}: offset {wanted} was deleted before it was read")
        # Only gaps in inputs can be accepted. A record that is missing in a repartition topic was committed by a
        # sender and would be lost.
        accept = f"; or give them up with --accept-gap {topic}:{number}" if is_gap else ""
        return OffsetsLost(
            f"{topic}-{number}: offset {wanted} is wanted, but the topic holds {low} to "
            f"{high}: records were deleted before they were read (retention, truncation, topic recreated). Restore "
            f"them{accept}; or start over with `forebay reset`. Give topics with old event times retention.ms=-1"
        )
