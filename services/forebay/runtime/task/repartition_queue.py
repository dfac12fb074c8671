"""One partition of a repartition topic: one stream per sender, kept within bounds by reading again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from forebay.processor.messages import Message
from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TIME, announced_time
from forebay.runtime.task.end_log import EndLog
from forebay.runtime.task.partition_queue import UNKNOWN
from forebay.runtime.task.sender_stream import NEVER, SenderStream

MOST_QUEUED = 50_000
"""Records of one sender that wait in memory. The records behind them are read again when their turn comes."""
_LOOKS = 16
"""Looks at the partition's end that are remembered: those of the last seconds."""


class RepartitionPartition:
    """A partition of a repartition topic.

    Args:
        senders: every task that forwards to it.
        known: what the reader's position says of them.
        start: offset to read from.
        rank: 0 for one that is kept as a table: at equal timestamps tables come first (semantics.md).
        earlier: senders by the names that they have in records of earlier releases.
        lease: token of the lease.
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
        lease: int = 0,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.rank = rank
        self.lease = lease
        self.next = start
        self.end = UNKNOWN
        self.end_log = EndLog()
        self.at_end = False
        self._counted = start
        self.dropped = 0
        """Number of records of senders that the job does not have: an earlier release forwarded them."""
        self.strangers: set[str] = set()
        """Names of these senders."""
        self._looks: deque[tuple[int, float]] = deque([(0, NEVER)], _LOOKS)
        """The partition's end, open transactions included, and a time (s) before it was asked for."""
        times_by_sender = {earlier.get(time.sender, time.sender): time for time in known if time.topic == topic}
        self.senders = {name.encode(): SenderStream(self, name, times_by_sender.get(name)) for name in senders}
        renamed = {before.encode(): self.senders[name.encode()] for before, name in earlier.items()}
        self._by_name = renamed | self.senders

    def begin(self, end: int, now: float) -> None:
        """Note that the partition ended at `end` as the reader started. What was written before may be hours old.

        Args:
            end: records of open transactions included: they, too, were sent before.
            now: a time (s) before the end was asked for.
        """
        self._looks = deque([(end, now)], _LOOKS)
        for stream in self.senders.values():
            # What was committed before this start is not among the commits that a sender of the same group has counted.
            stream.counted = end

    def look(self, end: int, now: float) -> None:
        """Note that the partition ended at `end` later on; arguments as of `begin`."""
        self._looks.append((end, now))

    def take(self, message: Message, offset: int) -> None:
        """Queue a record, or learn its sender's time, unless it was used before."""
        # Before the sender is looked up: a record of an unknown sender is passed, too.
        if offset >= self.next:
            self.next = offset + 1
        self.at_end = False
        headers = message.headers()
        stream = self._by_name.get(headers[0][1] or b"") if headers else None
        if stream is None:
            self._pass_over(message, offset)
            return
        # Records from the cut on are read again later. If later ones were queued now, the sender's order would be lost.
        if offset < stream.next or stream.cut >= 0:
            return
        assert headers is not None
        time = announced_time(message, headers) if len(headers) > 1 and headers[1][0] == TIME else None
        if time is not None:
            stream.learn(time, offset, self._written_after(offset))
        # A pause of the partition would also hold up the senders that the reader waits for, and the merge would never
        # continue.
        elif len(stream.queue) >= MOST_QUEUED:
            stream.cut = offset
        else:
            stream.add(message, offset)

    def _pass_over(self, message: Message, offset: int) -> None:
        """Count a record whose sender the job does not have."""
        headers = message.headers()
        # After a rewind, the same records come again.
        if offset >= self._counted and not (headers and announced_time(message, headers)):
            self._counted, self.dropped = offset + 1, self.dropped + 1
            self.strangers.add((headers[0][1] or b"").decode(errors="replace")[:20] if headers else "")

    def _written_after(self, offset: int) -> float | None:
        for end, at in reversed(self._looks):
            # A record at or behind an end was written after the reader asked for that end.
            if offset >= end:
                return at
        return None

    def reach_end(self, offset: int) -> None:
        """Note that the partition ended at `offset`."""
        self.next, self.at_end = max(self.next, offset), True

    def rewind(self) -> int:
        """Return the offset to read from again for senders that were cut and have room now; -1: nothing to do."""
        # Not before half of the queue is used: a rewind reads the records of all other senders again, too.
        ready = [s for s in self.senders.values() if s.cut >= 0 and len(s.queue) < MOST_QUEUED // 2]
        # No sender was cut, or none has used enough of its queue yet.
        if not ready:
            return -1
        offset = min(stream.cut for stream in ready)
        for stream in ready:
            stream.next, stream.cut = stream.cut, -1
        if offset >= self.next:
            # The reader is before them already, for another sender: jumping to them would skip records of that sender.
            return -1
        self.next, self.at_end = offset, False
        return offset

    @property
    def resume(self) -> int:
        """Offset from which a reader must begin to see everything that is not used."""
        # After a rewind the reader is before the records that other senders have queued.
        return min([self.next, *(s.first_unused for s in self.senders.values() if s.first_unused >= 0)])

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
        """Whether all senders have read all there was, as far as is known now."""
        for stream in self.senders.values():  # noqa: SIM110 (asked of every task in every cycle)
            if not stream.has_caught_up:
                return False
        return True

    @property
    def idle_ms(self) -> int:
        """How long all senders have had nothing, as they said."""
        return min([stream.idle_ms for stream in self.senders.values()], default=0)

    def is_done(self, lease: int) -> bool:
        """Return whether all senders said that nothing more comes in this lease, and all of it is used."""
        return all(s.done == lease and not s.queue and s.cut < 0 for s in self.senders.values())
