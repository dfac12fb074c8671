"""The Processor API: what a service's logic implements and what it is given."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from forebay.processor.messages import Headers, Message

E = TypeVar("E")
O = TypeVar("O")  # noqa: E741
O_contra = TypeVar("O_contra", contravariant=True)


class NoKey(Enum):
    """Type of NO_KEY."""

    NO_KEY = "no key"


NO_KEY: Literal[NoKey.NO_KEY] = NoKey.NO_KEY
"""Given to `forward` as a key: the record is sent without one (None: with this record's)."""


class RejectedRecord(Exception):
    """Raised by logic to refuse a record: it goes to `<application>.errors` with this reason, nothing else happens."""


class LateRecord(Exception):
    """Raised by logic for a record that came too late: it goes to `<application>.late`, no store changes.

    Args:
        by_ms: how long ago the record would still have been accepted, in stream time.
    """

    def __init__(self, by_ms: int) -> None:
        super().__init__(f"late by {by_ms} ms of stream time")
        self.by_ms = by_ms


@dataclass(frozen=True, slots=True)
class Timer:
    """A due timer: `due` is in ms of stream time."""

    due: int
    name: str
    key: str


class Context(Protocol[O_contra]):
    """What one record (or one due timer) sees of its task.

    Everything asked for here takes effect together after the callback returned; if it raises, nothing does.
    """

    @property
    def key(self) -> str:
        """Key of the record, or of the timer."""
        ...

    @property
    def timestamp(self) -> int:
        """Event time of the record, or the timer's due time, in ms."""
        ...

    @property
    def current_stream_time(self) -> int:
        """Largest event time this task has accepted, this record included, in ms."""
        ...

    @property
    def current_system_time(self) -> int:
        """Wall-clock time (ms) as the commit began that this belongs to; a test driver's own."""
        ...

    @property
    def closing_time(self) -> int:
        """Time up to which results are final, in ms: stream time, or later on an idle topic."""
        ...

    @property
    def topic(self) -> str:
        """Topic of the record; "" in a timer."""
        ...

    @property
    def partition(self) -> int:
        """Partition of the record; -1 in a timer."""
        ...

    @property
    def offset(self) -> int:
        """Offset of the record; -1 in a timer."""
        ...

    @property
    def headers(self) -> Headers:
        """Headers of the record, in order; none in a timer."""
        ...

    def forward(
        self,
        value: O_contra | None,
        key: str | NoKey | None = None,
        timestamp: int | None = None,
        to: str | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Send `value`; None sends a tombstone. Key and timestamp (ms) are this record's unless given (see NO_KEY).

        Args:
            to: an output topic or a repartition; by default the first repartition if there is one, else the first
                output.
            headers: sent with it; none unless given.
        """
        ...

    def late(self, by_ms: int) -> None:
        """Send the record to `<application>.late` as well: a part of it came too late by `by_ms` of stream time."""
        ...

    def schedule(self, name: str, due: int, key: str | None = None) -> None:
        """Set the timer `name` of this key (or `key`; "" is the task's own) to fire at `due` (ms, stream time).

        An earlier setting is replaced.
        """
        ...

    def cancel(self, name: str, key: str | None = None) -> None:
        """Drop the timer `name` of this key (or `key`), if set."""
        ...


class Reading(NamedTuple, Generic[E]):
    """How records of a topic are read.

    Args:
        timestamp: gives a record's event time, in ms; None: it is the Kafka record's timestamp.
        event_id: gives the id by which repetitions are recognized (None: it is never one); None: there are no ids.
        extract: gives the event time of a message, its key's row text and its value, in ms, in place of `timestamp`.
    """

    timestamp: Callable[[E], int] | None = None
    event_id: Callable[[E], str | None] | None = None
    extract: Callable[[Message, Any, Any], int] | None = None


@dataclass(frozen=True, slots=True)
class IdleClose:
    """Has an idle task close everything open after a timeout, ahead of the clock: what comes later for it is late.

    Args:
        after_ms: idle time after which it does, in ms; 0 = never.
        horizon_ms: how far past stream time everything open closes (windows: size + grace).
    """

    after_ms: int
    horizon_ms: int


class Processor(abc.ABC, Generic[E, O]):
    """A service's logic, one record at a time.

    Stores are declared as class attributes, or in the constructor where settings shape them. Event time comes in with
    the record. What was not committed is computed again as if for the first time, so the clock and random numbers may
    be used; what a processor keeps beside its stores must not matter.
    """

    idle: IdleClose | None = None
    """An idle task's closing time is stream time plus its idle time, and timers due by then fire; see IdleClose for
    closing earlier than that."""

    wall_clock_interval_ms: int = 0
    """How often `on_wall_clock` is called; 0: never."""

    def timestamp(self, event: E, /) -> int:
        """Return the event time of an input record, in ms since the epoch; a forwarded record brings its own."""
        return int(event.timestamp)  # type: ignore[attr-defined]

    def event_id(self, event: E, /) -> str | None:
        """Return the id by which repetitions are recognized, or None for a record that is never a repetition.

        By default the field `event_id`; a record type without it has no repetitions.
        """
        return getattr(event, "event_id", None)

    def reading(self, topic: str) -> Reading[E]:
        """Return how records of `topic` are read; by default by `timestamp` and `event_id`."""
        return Reading(self.timestamp, self.event_id)

    def figures(self) -> Mapping[str, float]:
        """Return sums that it counts itself since it was made, by name: operators see them, nothing depends on them."""
        return {}

    def passed(self) -> Mapping[str, int]:
        """Return how many elements went from step to step since it was made, by the two steps' numbers ("1 3")."""
        return {}

    def opened(self) -> None:
        """Prepare what works on stores (operators): they are bound to their task now."""

    def record_key(self, name: str, key: str) -> str | bytes | None:
        """Return the key of the records that a store's entry, or a timer, belongs to; None: to the task as a whole.

        Bytes are the key's own; text stands for its UTF-8 bytes.

        Asked when a job gets another number of tasks, which its keys are spread over.

        Args:
            name: of the store or timer.
            key: under which the entry is stored, or the timer set.
        """
        return key or None

    @abc.abstractmethod
    def process(self, event: E, ctx: Context[O], /) -> None:
        """Handle one record. Any exception sends the record to .errors and undoes what it did."""

    def removed(self, topic: str, ctx: Context[O], /) -> None:
        """Handle the delete of `ctx.key` in an input that is a table: a record without value.

        Its event time is the Kafka record's timestamp, for there is no value that could carry one.
        """
        raise NotImplementedError(f"{topic} is a table of the job, but {type(self).__name__} has no removed()")

    def on_wall_clock(self, now: int, ctx: Context[O], /) -> None:
        """Do what has to be done every `wall_clock_interval_ms` of wall-clock time (Punctuation.WALL_CLOCK).

        Not a record's doing: `ctx.key` is "", `ctx.timestamp` is `now`. A call that was due while nobody ran the task
        is not made up for.

        Args:
            now: ms since the epoch.
        """
        raise NotImplementedError(f"{type(self).__name__} sets wall_clock_interval_ms but has no on_wall_clock()")

    def on_timer(self, timer: Timer, ctx: Context[O], /) -> None:
        """Handle a due timer."""
        raise NotImplementedError(f"{type(self).__name__} sets the timer {timer.name!r} but has no on_timer()")


AnyProcessor = Processor[Any, Any]
