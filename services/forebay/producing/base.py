"""The interface of generators, and their common options."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

V = TypeVar("V")

FIXED_START_MS = 1_735_689_600_000
"""Start of the event time of events that are not paced: 2025-01-01T00:00:00Z."""


class Defect(Enum):
    """The defect of a malformed record. A null value is a defect only in a stream; in a table it is a delete."""

    UNDECODABLE = "undecodable"
    WRONG_MAGIC = "wrong-magic"
    UNKNOWN_SCHEMA_ID = "unknown-schema-id"
    NULL_KEY = "null-key"
    NULL_VALUE = "null-value"
    MISSING_FIELD = "missing-field"
    NULL_FIELD = "null-field"
    WRONG_TYPE = "wrong-type"
    NEGATIVE_TIMESTAMP = "negative-timestamp"
    FAR_FUTURE_TIMESTAMP = "far-future-timestamp"


class Event(NamedTuple, Generic[V]):
    """A record to send. `timestamp` is the event time in ms.

    A malformed event contains the correct record, and the defect to apply to it.
    """

    key: str
    value: V
    timestamp: int
    defect: Defect | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a generator. The same options produce the same records, byte for byte.

    Args:
        rate: events per second, in real time; 0: as fast as possible.
        count: total number of records; None: unlimited.
        duration_s: how long to produce, in seconds; None: unlimited.
        keys: number of different keys (users, servers, devices ...).
        seed: seed of the random records.
        out_of_order: share of records that are sent later than at their event time.
        duplicates: share of records that repeat an earlier one.
        malformed: share of malformed records, of every kind in turn.
        start_ms: event time of the first record; None: now if paced, else FIXED_START_MS.
        event_rate: events per second of event time if they are not paced (rate = 0).
        max_delay_ms: maximum delay of an out-of-order record, in ms of event time.

    Raises:
        ValueError: a value is invalid.
    """

    rate: float = 0
    count: int | None = None
    duration_s: float | None = None
    keys: int = 1000
    seed: int = 1
    out_of_order: float = 0
    duplicates: float = 0
    malformed: float = 0
    start_ms: int | None = None
    event_rate: float = 1000
    max_delay_ms: int = 5000

    def __post_init__(self) -> None:
        for name in ("rate", "count", "duration_s", "start_ms"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value}: use 0 or more")
        for name in ("keys", "event_rate", "max_delay_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: use 1 or more")
        for name in ("out_of_order", "duplicates", "malformed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: use a share from 0 to 1")
        if self.out_of_order + self.duplicates + self.malformed > 0.9:
            raise ValueError("out_of_order, duplicates and malformed have a sum above 0.9: lower one of them")

    @property
    def events_per_second(self) -> float:
        """The events per second of event time."""
        return self.rate or self.event_rate

    @property
    def limit(self) -> int | None:
        """The number of records that the options determine; None: unlimited."""
        paced = int(self.rate * self.duration_s) if self.rate and self.duration_s is not None else None
        return min((n for n in (self.count, paced) if n is not None), default=None)

    def started_at(self, now_ms: int) -> Options:
        """Return these options with a fixed start."""
        if self.start_ms is not None:
            return self
        return dataclasses.replace(self, start_ms=now_ms if self.rate else FIXED_START_MS)


class Generator(Protocol[V]):
    """Generates a topic's regular records one by one, in the order of event time."""

    def next_event(self, timestamp: int) -> Event[V]:
        """Return the next record. `timestamp` (ms) is its event time."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A topic's generator.

    Args:
        topic: topic of the records.
        service: service with the records' contract (a folder of avro/).
        contract: name of the contract; "": values have no contract, and are dicts that are encoded as JSON.
        record_type: type of the values.
        generator: creates a generator for options.
        required_field: a field that the contract requires, and malformed records lack.
    """

    topic: str
    service: str
    contract: str
    record_type: type[Any]
    generator: Callable[[Options], Generator[Any]]
    required_field: str
