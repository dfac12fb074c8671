"""Check that a record fits its topic before it is sent, so that the record that caused it can be refused.

A broker refuses a record that is too large or too far in the future. It does not name the record, and the whole
transaction is lost. A retry would fail in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

from forebay.codec import EncodeError
from forebay.limits.topics import TaskLimits, TopicLimits

FRAME_BYTES = 128
"""What a record takes besides key, value and headers: its batch's header of 61 bytes, and lengths."""
HEADER_BYTES = 10
"""What a header takes besides name and value."""


class Room:
    """What one topic takes in this batch.

    Attributes:
        most: largest record (key, value and headers), in bytes.
        first, last: smallest and largest timestamp, ms.
        partitions: how many the topic has; 0: that is not known.
    """

    __slots__ = ("_limits", "first", "last", "most", "partitions")

    def __init__(self, limits: TopicLimits) -> None:
        self._limits = limits
        # A broker checks the size of the whole batch. A single record that fits only without its batch header would be
        # refused.
        self.most = limits.max_bytes - FRAME_BYTES
        self.partitions = limits.partitions
        self.begin(0)

    def begin(self, clock: int) -> None:
        """Begin a batch at `clock` (ms): timestamps are compared with it, as the broker compares them with its own."""
        self.first = max(self._limits.first_ms, clock - self._limits.before_max_ms)
        self.last = clock + self._limits.after_max_ms

    def check(self, what: str, size: int, timestamp: int) -> None:
        """Refuse a record that the topic would not take. Raises EncodeError, with size or time, limit and remedy.

        Args:
            what: is sent, for the message.
            size: of key, value and headers, in bytes.
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
        """Return what to say of a record of `size` bytes."""
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
    """Event times that can be used, both inclusive (ms), and what to say of an earlier and of a later one."""

    first: int
    last: int
    too_early: str
    too_late: str

    def refusal(self, timestamp: int) -> str:
        """Return what is wrong with an event time outside of them."""
        if timestamp < 0:
            return "is negative"
        if timestamp < self.first:
            return f"lies {self.first - timestamp} ms before {self.too_early}"
        return f"lies {timestamp - self.last} ms beyond {self.too_late}"


class Rooms:
    """What the topics of one task take in this batch."""

    def __init__(self, limits: TaskLimits | None = None) -> None:
        self._limits = limits or TaskLimits()
        self._changelogs = (self._limits.internal, *self._limits.stores.values())
        self._rooms: list[Room] = []
        self.errors = self._add(self._limits.errors)
        self.late = self._add(self._limits.late)
        self.internal = self._add(self._limits.internal)

    def output(self, target: str) -> Room:
        """Return what an output's topic takes."""
        return self._add(self._limits.output(target))

    def onward(self, repartition: str) -> Room:
        """Return what the topic of a repartition takes."""
        return self._add(self._limits.onward(repartition))

    def store(self, name: str) -> Room:
        """Return what a store's changelog takes."""
        return self._add(self._limits.store(name))

    def begin(self, clock: int) -> None:
        """Begin a batch at `clock` (ms)."""
        for room in self._rooms:
            room.begin(clock)

    def event_times(self, clock: int, max_future_ms: int) -> EventTimes:
        """Return the event times a batch at `clock` (ms) takes: none further off than the task's changelogs do."""
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
