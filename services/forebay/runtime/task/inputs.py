"""What a task reads: its partitions' records, merged by time (semantics.md, order of processing)."""

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
        partitions: of external topics.
        repartitions: of repartition topics.
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

    # What every task is asked in every cycle is written as a loop: for its few streams that takes a third of the time.

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
        """Offsets passed by reading, over all partitions."""
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
        """Return the records whose turn has come, about `most`: one list per stream, in the order that breaks ties."""
        if not self.has_waiting:
            return [[] for _ in self._streams]
        # One stream needs no promise of another one, and its records are taken without a heap.
        if not self.merges:
            return self._note_in_commit([take_out(stream, most) for stream in self._streams])
        streams = self._streams
        taken: list[list[Message]] = [[] for _ in streams]
        # An empty stream may still deliver earlier records: taking later ones than its promise would break the order.
        floor = min((stream.promise() for stream in streams if not stream.queue), default=EVER)
        heads = [(stream.head_time, index) for index, stream in enumerate(streams) if stream.queue]
        heapq.heapify(heads)
        while heads and most > 0 and heads[0][0] <= floor:
            timestamp, index = heads[0]
            stream = streams[index]
            taken[index].append(stream.queue.popleft())
            # Timestamps in a partition may go back. What the stream has promised may not.
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
        """Queue again what `ready` returned, except the first `processed` records of each stream; return those."""
        for stream, messages, count in zip(self._streams, taken, processed, strict=True):
            assert 0 <= count <= len(messages), (
                f"{count} of {len(messages)} records of {stream.order} count as processed"
            )
            # At the front and in their order: the next commit begins with them.
            stream.queue.extendleft(reversed(messages[count:]))
        return self._note_in_commit([messages[:count] for messages, count in zip(taken, processed, strict=True)])

    def append_times(self, taken: list[list[Message]], now: float, clock_ms: int) -> list[float]:
        """Return when records that `ready` returned were appended, in seconds of the monotonic clock; of a sample.

        Args:
            now: by the monotonic clock.
            clock_ms: the same moment by the wall clock.
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
        """Note that the records that were taken are committed."""
        for stream in self._streams:
            stream.in_commit = 0

    def _note_in_commit(self, taken: list[list[Message]]) -> list[list[Message]]:
        for stream, messages in zip(self._streams, taken, strict=True):
            stream.in_commit = len(messages)
        return taken

    @property
    def is_read(self) -> bool:
        """Whether everything that was there at the last look is queued or used."""
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
        """Time (ms) of the next record that the task takes, at the earliest; EVER if it has taken everything."""
        time = EVER
        for stream in self._streams:
            # An empty stream counts with what it has promised, because its next record may be the earliest of all.
            time = min(time, stream.head_time if stream.queue else stream.promise())
        return time

    @property
    def is_caught_up(self) -> bool:
        """Whether all that was there is used, and the tasks that forward to this one said the same of themselves."""
        if self.has_waiting or not self.is_read:
            return False
        for item in self.repartitions:  # noqa: SIM110
            if not item.senders_caught_up:
                return False
        return True

    def is_done(self, lease: int) -> bool:
        """Return whether nothing more is to be read in a lease that ends by itself."""
        return all(item.is_done for item in self.partitions) and all(i.is_done(lease) for i in self.repartitions)

    @property
    def idle_ms(self) -> int:
        """How long the upstream tasks have been idle, as they announced it; EVER without upstream tasks."""
        return min([item.idle_ms for item in self.repartitions]) if self.repartitions else EVER

    @property
    def ends(self) -> Ends:
        """Offsets from which a reader must continue."""
        return (*[(item.topic, item.partition, item.resume) for item in self.all_partitions], *self.unread)

    @property
    def senders(self) -> tuple[SenderTime, ...]:
        """The senders' times, which a reader needs to resume."""
        return tuple(stream.position(item.resume) for item in self.repartitions for stream in item.senders.values())
