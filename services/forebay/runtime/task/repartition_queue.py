"""One partition of a repartition topic: a bounded stream per sender. Records beyond the bound are read again later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from forebay.processor.messages import Message
from forebay.runtime.errors import FormatChanged
from forebay.runtime.protocol.position import SenderTime
from forebay.runtime.protocol.times import TIME, announced_time, data_headers, sender_and_digest
from forebay.runtime.task.end_log import EndLog
from forebay.runtime.task.partition_queue import UNKNOWN
from forebay.runtime.task.record_formats import RecordFormat
from forebay.runtime.task.sender_stream import NEVER, SenderStream

MOST_QUEUED = 50_000
"""Records of one sender that wait in memory. The records behind them are read again when their turn comes."""
REMEDIES = (
    "Run the version of the program that wrote them with `--trigger available-now`, until it has read them, then this "
    "one; or write the program with its formats as they were; or start over with `forebay reset`"
)
"""What to do if unread records would be misread."""
_LOOKS = 16
"""Number of ends of the partition that are remembered: those of the last seconds."""


class RepartitionPartition:
    """A partition of a repartition topic.

    Args:
        senders: every task that forwards to it.
        known: the senders' times in the reader's position.
        start: offset of the first record to read.
        rank: 0 for a topic that is read as a table, because at equal timestamps tables come first (semantics.md).
        earlier: names of senders, by their names in records of earlier releases.
        lease: token of the lease.
        kind: the declared format of its records; None if unknown.
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
        kind: RecordFormat | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.rank = rank
        self.lease = lease
        self.kind = kind
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
        """Ends of the partition, open transactions included, each with a time (s) before it was asked for."""
        times_by_sender = {earlier.get(time.sender, time.sender): time for time in known if time.topic == topic}
        self.senders = {name.encode(): SenderStream(self, name, times_by_sender.get(name)) for name in senders}
        renamed = {before.encode(): self.senders[name.encode()] for before, name in earlier.items()}
        self._by_name = renamed | self.senders
        self._refused: Mapping[str, str] = {}
        if kind is not None and kind.digest:
            self._read_digest(kind.digest)

    def accept_formats(self, readable: Iterable[str], refused: Mapping[str, str]) -> None:
        """Set which records of other formats are read, and which are refused.

        Args:
            readable: digests of formats that the declared format can read.
            refused: reasons for the refusal of other formats, by digest.
        """
        self._refused = refused
        for digest in readable:
            self._read_digest(digest)

    def _read_digest(self, digest: str) -> None:
        # The digest is part of the name that is looked up for each record in any case, so the check costs no time.
        named = {data_headers(name.decode(), digest)[0][1] or b"": stream for name, stream in self.senders.items()}
        self._by_name.update(named)

    def begin(self, end: int, now: float) -> None:
        """Record the partition's end at the reader's start. Announcements before it may be hours old.

        Args:
            end: includes records of open transactions, because these, too, were sent before the start.
            now: a time (s) before the end was asked for.
        """
        self._looks = deque([(end, now)], _LOOKS)
        for stream in self.senders.values():
            # A sender of the same group counts what it commits from this start on, so the reader counts from here, too.
            stream.counted = end

    def look(self, end: int, now: float) -> None:
        """Record a later end of the partition; arguments as of `begin`."""
        self._looks.append((end, now))

    def take(self, message: Message, offset: int) -> None:
        """Queue a record, or store the time that its sender announces, unless it was used before."""
        # Before the sender is looked up, because the reader also passes records of unknown senders.
        if offset >= self.next:
            self.next = offset + 1
        self.at_end = False
        headers = message.headers()
        stream = self._by_name.get(headers[0][1] or b"") if headers else None
        if stream is None:
            self._pass_over(message, offset)
            return
        # Records before `next` were used before a rewind or a restart. Records from the cut on are read again later.
        # Queued now, they would overtake those that were left out.
        if offset < stream.next or stream.cut >= 0:
            return
        assert headers is not None
        time = announced_time(message, headers) if len(headers) > 1 and headers[1][0] == TIME else None
        if time is not None:
            stream.learn(time, offset, self._written_after(offset))
        # The partition is not paused, because that would also hold up the senders that the reader waits for, and the
        # merge would never continue.
        elif len(stream.queue) >= MOST_QUEUED:
            stream.cut = offset
        else:
            stream.add(message, offset)

    def _pass_over(self, message: Message, offset: int) -> None:
        """Count a record whose sender the job does not have. Raises FormatChanged if only its format differs."""
        headers = message.headers()
        sender, digest = sender_and_digest(headers[0][1] or b"") if headers else (b"", "")
        known = self._by_name.get(sender) if digest else None
        if known is not None and not (self.kind and self.kind.digest):
            # If the declared format is unknown, formats are never compared.
            self._read_digest(digest)
            self.take(message, offset)
            return
        if known is not None:
            # A record that was used before, or is read again later, is not misread now.
            if offset >= known.next and known.cut < 0:
                raise FormatChanged(self._describe(offset, digest))
            return
        # After a rewind, the same records are read again.
        if offset >= self._counted and not (headers and announced_time(message, headers)):
            self._counted, self.dropped = offset + 1, self.dropped + 1
            self.strangers.add(sender.decode(errors="replace")[:20])

    def _describe(self, offset: int, digest: str) -> str:
        why = self._refused.get(digest) or f"holds records of another version of the program (format {digest})"
        return f"{self.topic}-{self.partition} {why}: the record at offset {offset} would be misread. {REMEDIES}"

    def _written_after(self, offset: int) -> float | None:
        for end, at in reversed(self._looks):
            # A record at or behind an end was written after the reader asked for that end.
            if offset >= end:
                return at
        return None

    def reach_end(self, offset: int) -> None:
        """Record that the partition ended at `offset`."""
        self.next, self.at_end = max(self.next, offset), True

    def rewind(self) -> int:
        """Return the offset from which to read again, for senders that were cut and have room now; -1: no rewind."""
        # Not before half of the queue is used, because a rewind reads the records of all other senders again, too.
        ready = [s for s in self.senders.values() if s.cut >= 0 and len(s.queue) < MOST_QUEUED // 2]
        # No sender was cut, or none has used enough of its queue yet.
        if not ready:
            return -1
        offset = min(stream.cut for stream in ready)
        for stream in ready:
            stream.next, stream.cut = stream.cut, -1
        if offset >= self.next:
            # The reader is already before these records, for another sender. A jump to them would skip records of that
            # sender.
            return -1
        self.next, self.at_end = offset, False
        return offset

    @property
    def resume(self) -> int:
        """Offset from which a reader reads all unused records."""
        # After a rewind the reader is before the records that other senders have queued.
        return min([self.next, *(s.first_unused for s in self.senders.values() if s.first_unused >= 0)])

    @property
    def is_scanned(self) -> bool:
        """Whether the partition is read to its last known end."""
        return self.at_end if self.end == UNKNOWN else self.next >= self.end

    @property
    def is_read(self) -> bool:
        """Whether the partition is read to its last known end, and no sender's records were left out."""
        if not self.is_scanned:
            return False
        for stream in self.senders.values():  # noqa: SIM110 (asked of every task in every cycle)
            if stream.cut >= 0:
                return False
        return True

    @property
    def senders_caught_up(self) -> bool:
        """Whether all senders have caught up, as far as the reader knows."""
        for stream in self.senders.values():  # noqa: SIM110 (asked of every task in every cycle)
            if not stream.has_caught_up:
                return False
        return True

    @property
    def idle_ms(self) -> int:
        """Shortest idle time (ms) that the senders have announced."""
        return min([stream.idle_ms for stream in self.senders.values()], default=0)

    def is_done(self, lease: int) -> bool:
        """Return whether every sender has announced its end in this lease, and all of its records are used."""
        return all(s.done == lease and not s.queue and s.cut < 0 for s in self.senders.values())
