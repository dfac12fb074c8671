"""The records of one input partition that wait for their turn."""

from __future__ import annotations

from collections import deque

from forebay.processor.messages import Message
from forebay.runtime.task.end_log import EndLog

EVER = 1 << 62
UNKNOWN = -1
GLOBAL = -1
"""Rank of a partition of a global table: its records come before all others, regardless of their time."""


class Stream:
    """Records in the order in which one writer sent them. Its head may have to wait for other streams' heads."""

    __slots__ = ("in_commit", "last", "order", "queue")

    def __init__(self, order: tuple[int, str, int, str]) -> None:
        self.order = order
        self.queue: deque[Message] = deque()
        self.last = -1
        """Largest timestamp taken (ms)."""
        self.in_commit = 0
        """Records of the commit that is in progress."""

    @property
    def head_time(self) -> int:
        """Time (ms) by which the first record queued is merged."""
        # A producer may send any time. One later than EVER would wait for ever for the other streams.
        return -1 if self.order[0] == GLOBAL else min(self.queue[0].timestamp()[1], EVER)

    def promise(self) -> int:
        """Return the time (ms) before which nothing more comes in order, while nothing is queued."""
        raise NotImplementedError


class InputPartition(Stream):
    """A partition of an external topic: its records are one stream.

    Args:
        rank: 0 for a topic read as a table: at equal timestamps tables come first (semantics.md). GLOBAL.
        start: offset to read from.
        until: offset to end at; -1: none.
    """

    __slots__ = ("at_end", "begins_after", "end", "end_log", "next", "partition", "skipped", "topic", "until")

    def __init__(self, topic: str, partition: int, rank: int, start: int, until: int = -1, name: str = "") -> None:
        super().__init__((rank, name or topic, partition, ""))
        self.topic = topic
        self.partition = partition
        self.next = start
        self.skipped = 0
        """Offsets that were deleted before they were read."""
        self.until = until
        self.end = UNKNOWN
        self.end_log = EndLog()
        self.at_end = False
        self.begins_after = -1
        """Time (ms) before which no record comes that was not read, if the reader knows it."""

    def take(self, message: Message, offset: int) -> None:
        """Queue a record, unless it was queued before or lies beyond `until`."""
        # After the election of another leader, the client may deliver records once more.
        if offset < self.next:
            return
        # A record behind the end belongs to the next run. Its offset is not passed, so the position stays at the end.
        if 0 <= self.until <= offset:
            self.next, self.at_end = max(self.next, self.until), True
            return
        self.next, self.at_end = offset + 1, False
        self.queue.append(message)

    def skip(self, offset: int) -> None:
        """Continue at `offset`: what is before it was deleted."""
        self.skipped += max(0, offset - self.next)
        self.next, self.at_end = max(self.next, offset), False

    def reach_end(self, offset: int) -> None:
        """Note that the partition ended at `offset`."""
        self.next, self.at_end = max(self.next, offset if self.until < 0 else min(offset, self.until)), True

    @property
    def resume(self) -> int:
        """Offset of the first record that is not used."""
        return self.queue[0].offset() if self.queue else self.next

    @property
    def is_read(self) -> bool:
        """Whether everything that was there at the last look is queued or used."""
        if 0 <= self.until <= self.next:
            return True
        # The client reports an end only for an empty fetch, which a topic that is written all the time may not have.
        # The end that the reader asked for does not depend on that.
        return self.at_end if self.end == UNKNOWN else self.next >= self.end

    @property
    def is_done(self) -> bool:
        """Whether everything up to `until` is used."""
        return not self.queue and 0 <= self.until <= self.next

    def promise(self) -> int:
        return EVER if self.is_read else self.begins_after


def take_out(stream: Stream, most: int) -> list[Message]:
    """Return up to `most` records from the front of a stream's queue, and forget them."""
    queue = stream.queue
    if len(queue) <= most:
        messages = list(queue)
        queue.clear()
        return messages
    return [queue.popleft() for _ in range(most)]
