"""What one sender forwards into a partition of a repartition topic, and what the reader knows of the sender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from forebay.processor.messages import Message
from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task.partition_queue import EVER, Stream

NEVER = float("-inf")


class Frontier:
    """How far a sender of the reader's own group has come in its input, measured before each commit."""

    __slots__ = ("sent", "time")

    def __init__(self) -> None:
        self.time = -1
        """Time (ms) of the next record that the sender takes; EVER if it has taken everything."""
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

    A reader that processes records of other senders up to a time relies on this one: nothing older is to come from it.
    A sender that is behind announces its time. A sender that has caught up is not waited for, since it may have nothing
    to forward for hours. That holds only while the sender runs: as soon as it does not, records may wait that it has
    not read. So having caught up is never taken from a position, nor from what was announced before the reader's start,
    and it expires unless the sender repeats it.

    Args:
        known: what the reader's position says of it; None: nothing.
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
    )

    def __init__(self, reader: Reader, name: str, known: SenderTime | None) -> None:
        super().__init__((reader.rank, reader.topic, reader.partition, name))
        self.reader = reader
        self.place = reader.topic, reader.partition
        self.name = name
        self.taken = 0
        """Number of its records that were written since the reader's start and have been read."""
        self.counted = 0
        """Offset behind the last of them."""
        self.time = -1 if known is None else known.stream_time
        self.done = 0 if known is None else known.done
        self.next = -1 if known is None else known.next_offset
        self.idle_ms = 0
        self.caught_up = False
        self.is_current = False
        """Whether the sender announced what it did while the reader ran, and not long ago."""
        self.said_at = NEVER
        """A time (s, of the reader's clock) before which the sender's last announcement was not written."""
        self.frontier: Frontier | None = None
        """Of a sender in the reader's own group; None: it is in another group."""
        self.cut = -1
        """Offset from which its records were not queued; -1: all are."""

    def add(self, message: Message, offset: int) -> None:
        """Queue a record."""
        self._count(offset)
        # A sender that sends is not idle, even if its last announcement said so.
        self.idle_ms = 0
        self.queue.append(message)

    def learn(self, time: TaskTime, offset: int, said_at: float | None) -> None:
        """Take in what the sender announced.

        Args:
            said_at: a time (s) before which it was not written; None: it may have been before the reader's start.
        """
        self._count(offset)
        self.time, self.caught_up = max(self.time, time.stream_time), time.caught_up
        self.idle_ms, self.done = time.idle_ms, time.done
        if said_at is not None:
            self.said_at, self.is_current = max(self.said_at, said_at), True

    def _count(self, offset: int) -> None:
        self.next = offset + 1
        # After a rewind, the same records come once more, and a count that included them would exceed what the sender
        # counted.
        if offset >= self.counted:
            self.counted, self.taken = offset + 1, self.taken + 1

    def expire(self, before: float) -> None:
        """Believe the sender no longer if what it announced may be older than `before` (s)."""
        if self.said_at < before:
            self.is_current = False

    @property
    def is_done(self) -> bool:
        """Whether the sender forwards nothing more in this lease."""
        # A token of an earlier lease does not count: in this lease the sender may have more to send.
        return self.done != 0 and self.done == self.reader.lease

    @property
    def has_caught_up(self) -> bool:
        """Whether the sender has read all there was, as far as is known now."""
        return (self.caught_up and self.is_current) or self.is_done

    def promise(self) -> int:
        # The next record is one that was not queued. What the sender announced behind it says nothing about it.
        if self.cut >= 0:
            return -1
        known = max(self.time, self.last)
        if not (self.has_caught_up and self.reader.is_scanned):
            return known
        frontier = self.frontier
        if frontier is None:
            return EVER
        # A broker answers a commit before its records can be read in every partition.
        is_visible = self.taken >= frontier.sent.get(self.place, 0)
        return max(known, frontier.time) if is_visible else known

    @property
    def first_unused(self) -> int:
        """Offset of its first record that is not used; -1: all are used."""
        return self.queue[0].offset() if self.queue else self.cut

    def position(self, resume: int) -> SenderTime:
        """Return what a reader that starts at `resume` must know of it."""
        unused = self.first_unused
        # What was used before the last start lies ahead of the reader, until it has come as far again.
        following = max(self.reader.next, self.next) if unused < 0 else unused
        # A start reads the queued records again. The time that it relies on must not lie behind the first of them.
        time = max(self.time, self.last) if not self.queue else self.queue[0].timestamp()[1]
        return SenderTime(
            self.reader.topic,
            self.name,
            following if following > resume else -1,
            time,
            # Unused records are read again by the next start, which must wait for them.
            self.done if unused < 0 else 0,
        )
