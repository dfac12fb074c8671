"""A task's input: the records of its partitions, merged by time (semantics.md, order of processing)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from forebay.processor.messages import Message
from forebay.runtime.protocol.position import Ends, SenderTime
from forebay.runtime.task.end_log import append_time
from forebay.runtime.task.partition_queue import EVER, InputPartition, Stream, take_out
from forebay.runtime.task.repartition_queue import RepartitionPartition

_SAMPLES = 10
"""Records of a stream whose latency is measured, in each commit."""
MOST_WAITING = 20_000
"""Records of an external partition that may wait for other partitions before its reading pauses."""


class TaskInput:
    """One task's partitions.

    While a partition is known to hold unread records, the task waits for its next record. Once all partitions are read
    to the end, the task processes the buffered records.

    Args:
        partitions: partitions of external topics.
        repartitions: partitions of repartition topics.
    """

    def __init__(self, partitions: Sequence[InputPartition], repartitions: Sequence[RepartitionPartition] = ()) -> None:
        self.partitions = list(partitions)
        self.repartitions = list(repartitions)
        streams: list[Stream] = [*partitions]
        logs = {id(partition): partition.end_log for partition in partitions}
        for item in repartitions:
            streams.extend(item.senders.values())
            logs.update({id(stream): item.end_log for stream in item.senders.values()})
        self._streams = sorted(streams, key=lambda stream: stream.order)
        self._logs = [logs[id(stream)] for stream in self._streams]
        self.all_partitions: tuple[InputPartition | RepartitionPartition, ...] = (*self.partitions, *self.repartitions)
        """All partitions."""
        self.unread: Ends = ()
        """Offsets of partitions that are no longer read: if a later release reads them, it continues from there."""
        self.merges = len(self._streams) > 1
        """Whether there is more than one stream."""

    # The properties that are read for every task in every cycle use plain loops: for a few streams, these take a third
    # of the time of `sum` or `any`.

    @property
    def waiting(self) -> int:
        """Number of records queued."""
        count = 0
        for stream in self._streams:
            count += len(stream.queue)
        return count

    @property
    def has_waiting(self) -> bool:
        """Whether records are queued."""
        for stream in self._streams:  # noqa: SIM110
            if stream.queue:
                return True
        return False

    @property
    def passed(self) -> int:
        """Sum of all partitions' next offsets, which grows as they are read."""
        count = 0
        for partition in self.all_partitions:
            count += partition.next
        return count

    @property
    def deleted_unread(self) -> dict[str, int]:
        """Offsets that were deleted before they were read, by topic; topics without any are left out."""
        counts: dict[str, int] = {}
        for partition in self.partitions:
            if partition.skipped:
                counts[partition.topic] = counts.get(partition.topic, 0) + partition.skipped
        return counts

    def ready(self, most: int) -> list[list[Message]]:
        """Return about `most` records that are ready: one list per stream, in the order that breaks ties."""
        if not self.has_waiting:
            return [[] for _ in self._streams]
        # A single stream depends on no other stream's promise, and needs no heap.
        if not self.merges:
            return self._note_in_commit([take_out(stream, most) for stream in self._streams])
        streams = self._streams
        taken: list[list[Message]] = [[] for _ in streams]
        # An empty stream may still receive records as early as its promise. Until it does, later records of the other
        # streams must wait.
        floor = min((stream.promise() for stream in streams if not stream.queue), default=EVER)
        heads = [(stream.head_time, index) for index, stream in enumerate(streams) if stream.queue]
        heapq.heapify(heads)
        while heads and most > 0 and heads[0][0] <= floor:
            timestamp, index = heads[0]
            stream = streams[index]
            taken[index].append(stream.queue.popleft())
            # Timestamps in a partition may go back. The stream's promise may not.
            stream.last = max(stream.last, timestamp)
            most -= 1
            if stream.queue:
                heapq.heapreplace(heads, (stream.head_time, index))
            else:
                # The stream is empty from here on, so its promise limits the merge, too.
                heapq.heappop(heads)
                floor = min(floor, stream.promise())
        return self._note_in_commit(taken)

    def give_back(self, taken: list[list[Message]], processed: list[int]) -> list[list[Message]]:
        """Put the records of `ready` back, except the first `processed` of each stream; return the processed ones."""
        for stream, messages, count in zip(self._streams, taken, processed, strict=True):
            assert 0 <= count <= len(messages), (
                f"{count} of {len(messages)} records of {stream.order} count as processed"
            )
            # At the front and in their order: the next commit begins with them.
            stream.queue.extendleft(reversed(messages[count:]))
        return self._note_in_commit([messages[:count] for messages, count in zip(taken, processed, strict=True)])

    def append_times(self, taken: list[list[Message]], now: float, clock_ms: int) -> list[float]:
        """Return the times (monotonic clock, s) at which a sample of the records of `ready` was appended.

        Args:
            now: current time of the monotonic clock.
            clock_ms: current time of the wall clock.
        """
        times = []
        # A sample is enough for the quantiles, and this runs in every commit.
        for messages, log in zip(taken, self._logs, strict=True):
            for message in messages[:: max(1, len(messages) // _SAMPLES)]:
                time = append_time(message, log, now, clock_ms)
                if time is not None:
                    times.append(time)
        return times

    def finish_commit(self) -> None:
        """Record that the commit in progress has succeeded."""
        for stream in self._streams:
            stream.in_commit = 0

    def _note_in_commit(self, taken: list[list[Message]]) -> list[list[Message]]:
        for stream, messages in zip(self._streams, taken, strict=True):
            stream.in_commit = len(messages)
        return taken

    @property
    def is_read(self) -> bool:
        """Whether all partitions are read to their last known ends."""
        for partition in self.all_partitions:  # noqa: SIM110
            if not partition.is_read:
                return False
        return True

    @property
    def dropped(self) -> int:
        """Number of records of senders that the job does not have."""
        return sum([partition.dropped for partition in self.repartitions])

    @property
    def frontier(self) -> int:
        """Earliest possible time (ms) of the task's next record; EVER if everything is processed."""
        time = EVER
        for stream in self._streams:
            # An empty stream counts with its promise, because its next record may be the earliest of all.
            time = min(time, stream.head_time if stream.queue else stream.promise())
        return time

    @property
    def is_caught_up(self) -> bool:
        """Whether all records up to the known ends are used, and all senders have announced the same of themselves."""
        if self.has_waiting or not self.is_read:
            return False
        for item in self.repartitions:  # noqa: SIM110
            if not item.senders_caught_up:
                return False
        return True

    def is_done(self, lease: int) -> bool:
        """Return whether everything is read and used in a lease with end offsets."""
        return all(item.is_done for item in self.partitions) and all(i.is_done(lease) for i in self.repartitions)

    @property
    def idle_ms(self) -> int:
        """Shortest idle time (ms) that the upstream tasks have announced; EVER without upstream tasks."""
        return min([item.idle_ms for item in self.repartitions]) if self.repartitions else EVER

    @property
    def ends(self) -> Ends:
        """Offsets from which a reader must continue."""
        return (*[(item.topic, item.partition, item.resume) for item in self.all_partitions], *self.unread)

    @property
    def senders(self) -> tuple[SenderTime, ...]:
        """The senders' times, which a reader needs to resume."""
        return tuple(stream.position(item.resume) for item in self.repartitions for stream in item.senders.values())
