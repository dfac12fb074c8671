"""The Processor API: the base class of a service's logic, and the context that it receives."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from forebay.processor.messages import Headers, Message
from forebay.time.durations import Duration, set_durations

E = TypeVar("E")
O = TypeVar("O")  # noqa: E741
O_contra = TypeVar("O_contra", contravariant=True)


class NoKey(Enum):
    """Type of NO_KEY."""

    NO_KEY = "no key"


NO_KEY: Literal[NoKey.NO_KEY] = NoKey.NO_KEY
"""Key with which `forward` sends a record without a key, and `schedule` sets a timer of the whole task.

With None, both use the current key.
"""


class RejectedRecord(Exception):
    """Raise this in a processor to reject a record.

    The record goes to `<application>.errors` with this message as its reason. All other effects of the record are
    undone.
    """


class LateRecord(Exception):
    """Raise this in a processor to report that a record arrived too late.

    The record goes to `<application>.late`. All other effects of the record are undone.

    Args:
        by_ms: How far stream time had passed the record's last acceptable time, in ms.
    """

    def __init__(self, by_ms: int) -> None:
        super().__init__(f"late by {by_ms} ms of stream time")
        self.by_ms = by_ms


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that is due.

    Args:
        due: Time of the timer, in ms of stream time.
        name: Name of the timer.
        key: Key of the timer, of the same type as the record keys. None for a timer of the whole task.
    """

    due: int
    name: str
    key: Any


class Context(Protocol[O_contra]):
    """Access to the record or timer that is being processed, and the actions of a processor.

    The effects of a callback take place together after it returns. If it raises, none of them takes place.
    """

    @property
    def key(self) -> str:
        """Key of the record or of the timer. None if the record has no key, or the timer is that of the whole task."""
        ...

    @property
    def timestamp(self) -> int:
        """Event time of the record, or due time of the timer, in ms."""
        ...

    @property
    def current_stream_time(self) -> int:
        """Largest event time that this task has accepted, including this record's, in ms."""
        ...

    @property
    def current_system_time(self) -> int:
        """Wall-clock time at which the current commit began, in ms; in tests, the driver's clock."""
        ...

    @property
    def closing_time(self) -> int:
        """Time up to which results are final, in ms: stream time, or a later time if the topic is idle."""
        ...

    @property
    def topic(self) -> str:
        """Topic of the record; an empty string in a timer."""
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
        """Headers of the record, in order; empty in a timer."""
        ...

    def forward(
        self,
        value: O_contra | None,
        key: str | NoKey | None = None,
        timestamp: int | None = None,
        to: str | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Send a record downstream.

        Args:
            value: Value of the record. None sends a tombstone.
            key: Key of the record. By default, the current record's key; NO_KEY sends a record without a key.
            timestamp: Event time in ms. By default, the current record's.
            to: Name of an output topic, a repartition or a child. By default, the first repartition if there is one,
                else the first output.
            headers: Headers of the record. By default, none.
        """
        ...

    def late(self, by_ms: int) -> None:
        """Send the current record to `<application>.late` and continue to process it.

        Use this if a part of the record is too late, for example one of several windows. In a timer, the timer is
        reported: its key, without a value.

        Args:
            by_ms: How far stream time had passed the record's last acceptable time, in ms.
        """
        ...

    def schedule(self, name: str, due: int, key: str | NoKey | None = None) -> None:
        """Set a timer, or replace the timer with this name and key.

        Args:
            name: Name of the timer.
            due: Time at which it fires, in ms of stream time.
            key: Key of the timer. By default, the current key; NO_KEY means the whole task.
        """
        ...

    def cancel(self, name: str, key: str | NoKey | None = None) -> None:
        """Cancel a timer if it is set.

        Args:
            name: Name of the timer.
            key: Key of the timer, as in `schedule`.
        """
        ...


class Reading(NamedTuple, Generic[E]):
    """How the records of a topic are read.

    Args:
        timestamp: Function of the record that returns its event time in ms. None: the Kafka record's timestamp.
        event_id: Function of the record that returns the id by which duplicates are dropped, or None for a record that
            is never a duplicate. None: no deduplication.
        extract: Function of the message, its encoded key and its value that returns the event time in ms. It replaces
            `timestamp`.
    """

    timestamp: Callable[[E], int] | None = None
    event_id: Callable[[E], str | None] | None = None
    extract: Callable[[Message, Any, Any], int] | None = None


@dataclass(frozen=True, slots=True)
class IdleClose:
    """Close all open windows and sessions of an idle task. Records that arrive later for them are late.

    Args:
        after_ms: Idle time, in ms or as a timedelta. 0 turns this off.
        horizon_ms: How far stream time must advance to close everything that is open (of windows: size plus grace),
            in ms or as a timedelta.
    """

    after_ms: int
    horizon_ms: int

    def __init__(self, after_ms: Duration, horizon_ms: Duration) -> None:
        set_durations(self, after_ms=after_ms, horizon_ms=horizon_ms)


_FORMER_METHODS = {"opened": "init", "removed": "on_delete"}
"""Methods of processors by their names in 0.2."""


def adopt_former_methods(kind: type) -> None:
    """Rename methods that a class defines with their names of 0.2 to their current names, with a warning.

    The former names work for one more release.
    """
    for former, name in _FORMER_METHODS.items():
        if former in vars(kind) and name not in vars(kind):
            warnings.warn(
                f"{kind.__name__}.{former}() was renamed in Forebay 0.3: call it {name}(). "
                "The former name works until 0.4",
                FutureWarning,
                # Report the class statement, which calls this function via abc's __new__ and __init_subclass__.
                stacklevel=4,
            )
            setattr(kind, name, vars(kind)[former])


class Processor(abc.ABC, Generic[E, O]):
    """The logic of a service, which processes one record at a time.

    Declare stores as class attributes or, if they depend on settings, in the constructor. After a failure, everything
    since the last commit is processed again, so that the clock and random numbers may be used. Keep state in stores
    only: attributes of the processor are neither restored nor rolled back.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adopt_former_methods(cls)

    idle: IdleClose | None = None
    """Closes windows of an idle task early. By default, its closing time is stream time plus idle time."""

    wall_clock_interval_ms: Duration = 0
    """Interval at which `on_wall_clock` is called, in ms or as a timedelta. 0: it is not called."""

    def timestamp(self, event: E, /) -> int:
        """Return the event time of an input record, in ms since the epoch."""
        return int(event.timestamp)  # type: ignore[attr-defined]

    def event_id(self, event: E, /) -> str | None:
        """Return the id by which duplicates of a record are dropped, or None if it is never a duplicate.

        By default, this is the field `event_id`. Records without this field have no duplicates.
        """
        return getattr(event, "event_id", None)

    def reading(self, topic: str) -> Reading[E]:
        """Return how the records of `topic` are read; by default, with `timestamp` and `event_id`."""
        return Reading(self.timestamp, self.event_id)

    def figures(self) -> Mapping[str, float]:
        """Return counters that the processor maintains, by name. They are only displayed to operators."""
        return {}

    def edge_counts(self) -> Mapping[str, int]:
        """Return the number of records that passed from one operator to another, by the operators' numbers ("1 3")."""
        return {}

    def init(self) -> None:
        """Initialize the processor. It is called once per task, after the stores are bound to the task."""

    def record_key(self, name: str, key: str) -> str | bytes | None:
        """Return the record key to which an entry or timer belongs, or None if it belongs to the whole task.

        A rescale calls this to find the task of each entry. Bytes are the encoded key itself; a string means its UTF-8
        bytes.

        Args:
            name: Name of the store or timer.
            key: Key of the entry or timer. It is not called for timers of the whole task.
        """
        return key

    @abc.abstractmethod
    def process(self, event: E, ctx: Context[O], /) -> None:
        """Process one record. If this raises, the record goes to `.errors` and its effects are undone."""

    def on_delete(self, topic: str, ctx: Context[O], /) -> None:
        """Process a record without a value from an input that is a table, which deletes the row of `ctx.key`.

        The event time of such a record is its Kafka timestamp.
        """
        raise NotImplementedError(f"{topic} is a table of the job, but {type(self).__name__} has no on_delete()")

    def on_wall_clock(self, now: int, ctx: Context[O], /) -> None:
        """Run every `wall_clock_interval_ms` of wall-clock time (Kafka Streams' PunctuationType.WALL_CLOCK_TIME).

        `ctx.key` is None and `ctx.timestamp` is `now`. Punctuations that were missed while the task was not
        running are not replayed.

        Args:
            now: Wall-clock time in ms since the epoch.
        """
        raise NotImplementedError(f"{type(self).__name__} sets wall_clock_interval_ms but has no on_wall_clock()")

    def on_timer(self, timer: Timer, ctx: Context[O], /) -> None:
        """Process a timer that is due."""
        raise NotImplementedError(f"{type(self).__name__} sets the timer {timer.name!r} but has no on_timer()")


AnyProcessor = Processor[Any, Any]
