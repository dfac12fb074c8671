"""One partition of a repartition topic: one stream per sender, kept within bounds by reading again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from forebay.processor.messages import Message
from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TIME, TaskTime
from forebay.runtime.task.partition_queue import EVER, UNKNOWN, Stream

MOST_QUEUED = 50_000
"""Records of one sender that wait in memory; what comes behind them is read again when its turn comes."""


class SenderStream(Stream):
    """What one sender forwarded into a partition.

    Args:
        known: what was told of it before; None: nothing.
    """

    __slots__ = ("caught_up", "cut", "done", "idle_ms", "name", "next", "owner", "time")

    def __init__(self, owner: RepartitionPartition, name: str, known: SenderTime | None) -> None:
        super().__init__((owner.rank, owner.topic, owner.partition, name))
        self.owner = owner
        self.name = name
        self.time = -1 if known is None else known.stream_time
        self.caught_up = known is not None and known.caught_up
        self.next = -1 if known is None else known.next_offset
        self.idle_ms = 0
        self.done = 0
        self.cut = -1
        """Offset from which its records were not queued; -1: all are."""

    def promise(self) -> int:
        if self.cut >= 0:
            return -1
        if self.caught_up and self.owner.is_scanned:
            return EVER
        return max(self.time, self.last)

    @property
    def unused(self) -> int:
        """Offset of its first record that is not used; -1 where there is none."""
        return self.queue[0].offset() if self.queue else self.cut

    def position(self, resume: int) -> SenderTime:
        """Return what a reader that starts at `resume` must know of it."""
        unused = self.unused
        # What was used before the last start lies ahead of the reader, until it has come as far again.
        following = max(self.owner.next, self.next) if unused < 0 else unused
        time = max(self.time, self.last) if not self.queue else self.queue[0].timestamp()[1]
        return SenderTime(
            self.owner.topic,
            self.name,
            following if following > resume else -1,
            time,
            self.caught_up and unused < 0,
        )


class RepartitionPartition:
    """A partition of a repartition topic.

    Args:
        senders: every task that forwards to it.
        known: what the reader's position says of them.
        start: offset to read from.
        rank: 0 for one that is kept as a table: at equal timestamps tables come first (semantics.md).
        earlier: senders by the names that they have in records of earlier releases.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        senders: Iterable[str],
        known: Iterable[SenderTime],
        start: int,
        rank: int = 1,
        earlier: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.rank = rank
        self.next = start
        self.end = UNKNOWN
        self.at_end = False
        told = {earlier.get(time.sender, time.sender): time for time in known if time.topic == topic}
        self.senders = {name.encode(): SenderStream(self, name, told.get(name)) for name in senders}
        renamed = {before.encode(): self.senders[name.encode()] for before, name in earlier.items()}
        self._by_name = renamed | self.senders

    def take(self, message: Message, offset: int) -> None:
        """Queue a record, or learn its sender's time, unless it was used before."""
        if offset >= self.next:
            self.next = offset + 1
        self.at_end = False
        headers = message.headers()
        stream = self._by_name.get(headers[0][1] or b"") if headers else None
        if stream is None or offset < stream.next or stream.cut >= 0:
            return
        assert headers is not None
        if len(headers) > 1 and headers[1][0] == TIME:
            self._learn(stream, headers[1], offset)
        elif len(stream.queue) >= MOST_QUEUED:
            stream.cut = offset
        else:
            stream.next = offset + 1
            stream.idle_ms = 0
            stream.queue.append(message)

    def _learn(self, stream: SenderStream, header: tuple[str, bytes | None], offset: int) -> None:
        time = TaskTime.from_json(header[1] or b"")
        stream.next = offset + 1
        stream.time, stream.caught_up = max(stream.time, time.stream_time), time.caught_up
        stream.idle_ms, stream.done = time.idle_ms, time.done

    def reached(self, offset: int) -> None:
        """Note that the partition ended at `offset`."""
        self.next, self.at_end = max(self.next, offset), True

    def rewind(self) -> int:
        """Return the offset to read from again for senders that were cut and have room now; -1: nothing to do."""
        ready = [s for s in self.senders.values() if s.cut >= 0 and len(s.queue) < MOST_QUEUED // 2]
        if not ready:
            return -1
        offset = min(stream.cut for stream in ready)
        for stream in ready:
            stream.next, stream.cut = stream.cut, -1
        self.next, self.at_end = offset, False
        return offset

    @property
    def resume(self) -> int:
        """Offset from which a reader must begin to see everything that is not used."""
        return min([s.unused for s in self.senders.values() if s.unused >= 0], default=self.next)

    @property
    def is_scanned(self) -> bool:
        """Whether everything that was there at the last look is queued or used."""
        return self.at_end if self.end == UNKNOWN else self.next >= self.end

    @property
    def is_read(self) -> bool:
        """The same, and no sender's records were left out."""
        if not self.is_scanned:
            return False
        for stream in self.senders.values():  # noqa: SIM110 (asked of every task in every cycle)
            if stream.cut >= 0:
                return False
        return True

    @property
    def senders_caught_up(self) -> bool:
        """Whether all senders said that they have read all there was."""
        for stream in self.senders.values():  # noqa: SIM110 (asked of every task in every cycle)
            if not stream.caught_up:
                return False
        return True

    @property
    def idle_ms(self) -> int:
        """How long all senders have had nothing, as they said."""
        return min([stream.idle_ms for stream in self.senders.values()], default=0)

    def is_done(self, lease: int) -> bool:
        """Tell whether all senders said that nothing more comes in this lease, and all of it is used."""
        return all(s.done == lease and not s.queue and s.cut < 0 for s in self.senders.values())
