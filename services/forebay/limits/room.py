"""Checks of records against the limits of their topics before they are sent.

If a record is too large or too far in the future, a broker refuses it without naming it. The whole transaction is lost,
and a retry would fail in the same way. With these checks, only the input record that caused it fails.
"""

from __future__ import annotations

from typing import NamedTuple

from forebay.codec import EncodeError
from forebay.limits.topics import TaskLimits, TopicLimits

FRAME_BYTES = 128
"""Bytes of a record in addition to key, value and headers: its batch's header of 61 bytes, and lengths."""
HEADER_BYTES = 10
"""Bytes of a header in addition to its name and value."""


class Room:
    """The limits of one topic in the current commit.

    Attributes:
        most: Largest record (key, value and headers), in bytes.
        first, last: Smallest and largest timestamp, in ms.
        partitions: Number of partitions; 0 if it is not known.
    """

    __slots__ = ("_limits", "first", "last", "most", "partitions")

    def __init__(self, limits: TopicLimits) -> None:
        self._limits = limits
        # A broker checks the size of the whole record batch, including its header.
        self.most = limits.max_bytes - FRAME_BYTES
        self.partitions = limits.partitions
        self.begin(0)

    def begin(self, clock: int) -> None:
        """Begin a commit at `clock` (ms). Timestamps are compared with it, as the broker does with its own clock."""
        self.first = max(self._limits.first_ms, clock - self._limits.before_max_ms)
        self.last = clock + self._limits.after_max_ms

    def check(self, what: str, size: int, timestamp: int) -> None:
        """Check that the topic would accept a record.

        Args:
            what: What is sent, for the message.
            size: Size of key, value and headers, in bytes.
            timestamp: Timestamp in ms.

        Raises:
            EncodeError: The topic would refuse it. The message has the size or time, the limit and what to do.
        """
        if size > self.most:
            raise EncodeError(self.too_large(what, size))
        if timestamp.__class__ is not int:
            raise EncodeError(
                f"{what}: the timestamp {timestamp!r} is {type(timestamp).__name__}: specify a number of ms"
            )
        if not self.first <= timestamp <= self.last:
            raise EncodeError(f"{what}: {self._unfit_time(timestamp)}")

    def too_large(self, what: str, size: int) -> str:
        """Return the message for a record of `size` bytes, which is too large."""
        return (
            f"{what} of {size} bytes is above the {self.most} bytes that {self._topic} takes (max.message.bytes="
            f"{self._limits.max_bytes}, framing included): bound the record, or raise the topic's limit and start again"
        )

    def _unfit_time(self, timestamp: int) -> str:
        limits = self._limits
        if timestamp < limits.first_ms:
            if timestamp < 0:
                return f"the timestamp {timestamp} is negative"
            return f"the timestamp {timestamp} can't be written: Kafka's client takes 0 for none; use 1 ms or later"
        if timestamp < self.first:
            return (
                f"the timestamp {timestamp} is older than {self._topic} takes (message.timestamp.before.max.ms="
                f"{limits.before_max_ms})"
            )
        return (
            f"the timestamp {timestamp} lies {timestamp - self.last} ms further in the future than {self._topic} takes "
            f"(message.timestamp.after.max.ms={limits.after_max_ms})"
        )

    @property
    def _topic(self) -> str:
        return self._limits.topic or "its topic"


class EventTimes(NamedTuple):
    """The smallest and the largest accepted event time (ms, inclusive), and the limits in words, for messages."""

    first: int
    last: int
    too_early: str
    too_late: str

    def refusal(self, timestamp: int) -> str:
        """Return the reason why an event time is not accepted."""
        if timestamp < 0:
            return "is negative"
        if timestamp < self.first:
            return f"lies {self.first - timestamp} ms before {self.too_early}"
        return f"lies {timestamp - self.last} ms beyond {self.too_late}"


class Rooms:
    """The limits of the topics of one task in the current commit."""

    def __init__(self, limits: TaskLimits | None = None) -> None:
        self._limits = limits or TaskLimits()
        self._changelogs = (self._limits.internal, *self._limits.stores.values())
        self._rooms: list[Room] = []
        self.errors = self._add(self._limits.errors)
        self.late = self._add(self._limits.late)
        self.internal = self._add(self._limits.internal)

    def output(self, target: str) -> Room:
        """Return the limits of an output's topic."""
        return self._add(self._limits.output(target))

    def onward(self, repartition: str) -> Room:
        """Return the limits of the topic of a repartition."""
        return self._add(self._limits.onward(repartition))

    def store(self, name: str) -> Room:
        """Return the limits of a store's changelog."""
        return self._add(self._limits.store(name))

    def begin(self, clock: int) -> None:
        """Begin a commit at `clock` (ms)."""
        for room in self._rooms:
            room.begin(clock)

    def event_times(self, clock: int, max_future_ms: int) -> EventTimes:
        """Return the event times that a commit at `clock` (ms) accepts, within the limits of the task's changelogs."""
        after = min(limits.after_max_ms for limits in self._changelogs)
        before = min(limits.before_max_ms for limits in self._changelogs)
        changelogs = "what the job's changelogs take"
        return EventTimes(
            max(0, clock - before),
            clock + min(after, max_future_ms),
            f"{changelogs} (message.timestamp.before.max.ms={before})",
            "the allowed future (max_future_ms)"
            if max_future_ms <= after
            else f"{changelogs} (message.timestamp.after.max.ms={after})",
        )

    def _add(self, limits: TopicLimits) -> Room:
        room = Room(limits)
        self._rooms.append(room)
        return room
