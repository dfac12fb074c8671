"""One sender's records in a partition of a repartition topic, and what the reader knows about the sender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from forebay.processor.messages import Message
from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task.partition_queue import EVER, Stream

NEVER = float("-inf")


class Frontier:
    """Progress of a sender of the reader's own group, measured before each commit."""

    __slots__ = ("sent", "time")

    def __init__(self) -> None:
        self.time = -1
        """Earliest possible time (ms) of the sender's next record; EVER if it has processed everything."""
        self.sent: dict[tuple[str, int], int] = {}
        """Number of records it has committed since it started, by repartition topic and partition."""

    def add(self, sent: Mapping[str, Sequence[int]]) -> None:
        """Count what a commit sent, by repartition topic and partition."""
        for topic, counts in sent.items():
            for partition, count in enumerate(counts):
                if count:
                    self.sent[topic, partition] = self.sent.get((topic, partition), 0) + count


class Reader(Protocol):
    """The partition that a sender's records are read from."""

    topic: str
    partition: int
    rank: int
    next: int
    lease: int

    @property
    def is_scanned(self) -> bool: ...


class SenderStream(Stream):
    """One sender's records in a partition.

    When a reader processes other senders' records up to a time, it relies on this sender to forward nothing older. A
    sender that is behind announces its time. The reader does not wait for a sender that has caught up, because it may
    have nothing to forward for hours. This is safe only while the sender runs: while it does not, records that it has
    not read may be waiting. Therefore the state "caught up" is neither read from a position nor from an announcement
    before the reader's start, and it expires unless the sender repeats it.

    A sender may be frozen after it has determined its state, and before it sends the announcement. It makes one commit
    after the other, so an announcement of another group counts as made when the one before it was written.

    Args:
        known: the sender's time in the reader's position; None: it has none.
    """

    __slots__ = (
        "caught_up",
        "counted",
        "cut",
        "done",
        "frontier",
        "idle_ms",
        "is_current",
        "name",
        "next",
        "place",
        "reader",
        "said_at",
        "taken",
        "time",
        "written_at",
    )

    def __init__(self, reader: Reader, name: str, known: SenderTime | None) -> None:
        super().__init__((reader.rank, reader.topic, reader.partition, name))
        self.reader = reader
        self.place = reader.topic, reader.partition
        self.name = name
        self.taken = 0
        """Number of its records that were written since the reader's start and were read."""
        self.counted = 0
        """Offset after the last of them."""
        self.time = -1 if known is None else known.stream_time
        self.done = 0 if known is None else known.done
        self.next = -1 if known is None else known.next_offset
        self.idle_ms = 0
        self.caught_up = False
        self.is_current = False
        """Whether the sender's last announcement was made while the reader ran, and has not expired."""
        self.said_at = NEVER
        """Earliest possible time (s, by the reader's clock) at which the sender's last announcement was made."""
        self.written_at: float | None = None
        """Earliest possible time (s) at which it was written; None: perhaps before the reader's start."""
        self.frontier: Frontier | None = None
        """Progress of a sender in the reader's own group; None: it is in another group."""
        self.cut = -1
        """Offset of the first of its records that was not queued; -1: all were queued."""

    def add(self, message: Message, offset: int) -> None:
        """Queue a record."""
        self._count(offset)
        # A sender that sends is not idle, even if its last announcement said so.
        self.idle_ms = 0
        self.queue.append(message)

    def learn(self, time: TaskTime, offset: int, written_at: float | None) -> None:
        """Record an announcement of the sender.

        Args:
            written_at: earliest possible time (s) at which it was written; None: perhaps before the reader's start.
        """
        self._count(offset)
        self.time, self.caught_up = max(self.time, time.stream_time), time.caught_up
        self.idle_ms, self.done = time.idle_ms, time.done
        # After the commit of the announcement before it, the sender looked again for records that it has not read. A
        # sender of the reader's own group can't have been frozen while the reader ran.
        said_at = self.written_at if self.frontier is None else written_at
        if said_at is not None:
            self.said_at, self.is_current = max(self.said_at, said_at), True
        self.written_at = written_at

    def _count(self, offset: int) -> None:
        self.next = offset + 1
        # After a rewind, the same records are read again. Counted twice, they would exceed the sender's own count.
        if offset >= self.counted:
            self.counted, self.taken = offset + 1, self.taken + 1

    def expire(self, before: float) -> None:
        """Let the last announcement expire if it may be older than `before` (s)."""
        if self.said_at < before:
            self.is_current = False

    @property
    def is_done(self) -> bool:
        """Whether the sender forwards nothing more in this lease."""
        # A token of an earlier lease does not count: in this lease the sender may have more to send.
        return self.done != 0 and self.done == self.reader.lease

    @property
    def has_caught_up(self) -> bool:
        """Whether the sender has caught up, as far as the reader knows."""
        return (self.caught_up and self.is_current) or self.is_done

    def promise(self) -> int:
        # The next record is one that was not queued. Later announcements of the sender do not cover it.
        if self.cut >= 0:
            return -1
        known = max(self.time, self.last)
        if not (self.has_caught_up and self.reader.is_scanned):
            return known
        frontier = self.frontier
        if frontier is None:
            return EVER
        # A broker answers a commit before its records can be read in every partition. The sender's progress counts
        # only once the reader has all records that the sender has committed.
        is_visible = self.taken >= frontier.sent.get(self.place, 0)
        return max(known, frontier.time) if is_visible else known

    @property
    def first_unused(self) -> int:
        """Offset of its first record that is not used; -1: all are used."""
        return self.queue[0].offset() if self.queue else self.cut

    def position(self, resume: int) -> SenderTime:
        """Return the state of the sender that a reader needs to start at `resume`."""
        unused = self.first_unused
        # Records that were used before the last start may lie ahead of the reader, until it has passed them again.
        following = max(self.reader.next, self.next) if unused < 0 else unused
        # A start reads the queued records again. The time that it relies on must not be later than the first of them.
        time = max(self.time, self.last) if not self.queue else self.queue[0].timestamp()[1]
        return SenderTime(
            self.reader.topic,
            self.name,
            following if following > resume else -1,
            time,
            # Unused records are read again by the next start, which must wait for them.
            self.done if unused < 0 else 0,
        )
