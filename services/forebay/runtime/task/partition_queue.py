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
    """Records in the order in which one writer sent them. The first one may have to wait for those of other streams."""

    __slots__ = ("in_commit", "last", "order", "queue")

    def __init__(self, order: tuple[int, str, int, str]) -> None:
        self.order = order
        self.queue: deque[Message] = deque()
        self.last = -1
        """Largest timestamp (ms) of the records that were processed."""
        self.in_commit = 0
        """Records of the commit that is in progress."""

    @property
    def head_time(self) -> int:
        """Time (ms) by which the first record queued is merged."""
        # A producer may send any timestamp. A record later than EVER would wait forever for the other streams.
        return -1 if self.order[0] == GLOBAL else min(self.queue[0].timestamp()[1], EVER)

    def promise(self) -> int:
        """Return the time (ms) before which no further record is expected, while no record is queued."""
        raise NotImplementedError


class InputPartition(Stream):
    """A partition of an external topic: its records are one stream.

    Args:
        rank: 0 for a topic that is read as a table, because at equal timestamps tables come first (semantics.md); 1 for
            other topics; GLOBAL.
        start: offset of the first record to read.
        until: end offset; -1: none.
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
        """Time (ms) before which there is no unread record, if the reader knows it; otherwise -1."""

    def take(self, message: Message, offset: int) -> None:
        """Queue a record, unless it was queued before or lies beyond `until`."""
        # After the election of another leader, the client may deliver records again.
        if offset < self.next:
            return
        # A record behind the end belongs to the next run. Its offset is not passed, so the position stays at the end.
        if 0 <= self.until <= offset:
            self.next, self.at_end = max(self.next, self.until), True
            return
        self.next, self.at_end = offset + 1, False
        self.queue.append(message)

    def skip(self, offset: int) -> None:
        """Continue at `offset`, because earlier records were deleted."""
        self.skipped += max(0, offset - self.next)
        self.next, self.at_end = max(self.next, offset), False

    def reach_end(self, offset: int) -> None:
        """Record that the partition ended at `offset`."""
        self.next, self.at_end = max(self.next, offset if self.until < 0 else min(offset, self.until)), True

    @property
    def resume(self) -> int:
        """Offset of the first unused record."""
        return self.queue[0].offset() if self.queue else self.next

    @property
    def is_read(self) -> bool:
        """Whether the partition is read to its last known end."""
        if 0 <= self.until <= self.next:
            return True
        # The client reports an end only after an empty fetch, which may never happen in a topic that is written all the
        # time. The end that the reader asked for does not depend on that.
        return self.at_end if self.end == UNKNOWN else self.next >= self.end

    @property
    def is_done(self) -> bool:
        """Whether everything up to `until` is used."""
        return not self.queue and 0 <= self.until <= self.next

    def promise(self) -> int:
        # A partition that is read to its end does not delay the merge. Otherwise an idle partition would stop the task.
        return EVER if self.is_read else self.begins_after


def take_out(stream: Stream, most: int) -> list[Message]:
    """Remove up to `most` records from the front of a stream's queue and return them."""
    queue = stream.queue
    if len(queue) <= most:
        messages = list(queue)
        queue.clear()
        return messages
    return [queue.popleft() for _ in range(most)]
