"""The topics that can be produced, and the exact records any options give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from producers.base import FIXED_START_MS, Event, Generator, Options
from producers.disorder import disordered
from producers.user_activity import UserActivityGenerator
from user_sessions.model import UserActivity


@dataclass(frozen=True, slots=True)
class Source:
    """A topic's generator.

    Args:
        topic: where the records go.
        service: whose contract the records keep (a folder of avro/).
        contract: the contract's name there.
        record_type: the values' type.
        generator: makes a generator for options.
        required_field: a string the contract requires; malformed records lack it.
    """

    topic: str
    service: str
    contract: str
    record_type: type[Any]
    generator: Callable[[Options], Generator[Any]]
    required_field: str


SOURCES = {
    source.topic: source
    for source in (
        Source("user_activity", "user-sessions", "UserActivity", UserActivity, UserActivityGenerator, "session_id"),
    )
}


def source_of(topic: str) -> Source:
    """Give the topic's source. Raises ValueError, naming the topics there are."""
    if topic not in SOURCES:
        raise ValueError(f"nothing produces the topic {topic!r}: choose one of {', '.join(sorted(SOURCES))}")
    return SOURCES[topic]


def generate(topic: str, options: Options) -> Iterator[Event[Any]]:
    """Give the records for `options` in the order of sending; called again, the same ones.

    The n-th record is due n / rate seconds after the start, and ordinary ones carry that as their event time.
    """
    start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
    ms_per_event = 1000 / options.events_per_second
    indexes = count() if options.limit is None else range(options.limit)
    times = (start_ms + int(index * ms_per_event) for index in indexes)
    return disordered(source_of(topic).generator(options), times, options)
