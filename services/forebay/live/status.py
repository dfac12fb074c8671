"""The status of an engine: its queries, their lag, and its job's unexpected ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from forebay.codec import Unavailable
from forebay.kafka.errors import KafkaRefused
from forebay.live.keeper import JobEnd
from forebay.sql.evolution import reads
from forebay.sql.program import Program

Lag = Callable[[Sequence[str]], Mapping[str, int]]
"""Returns the pending records by topic, without topics that the job has not read yet."""


class _Reading(NamedTuple):
    """The lag of topics, and when the next request is due."""

    topics: tuple[str, ...]
    due_at: float
    lag: Mapping[str, int]


class CachedLag:
    """A cache of the lag, which is read from the broker at most every two seconds, for any number of pages.

    Args:
        patience_s: how long a page waits for the broker, in seconds. Then it gets the previous lag. The console's
            timeout for an engine is three seconds.
    """

    _EVERY_S = 2.0

    def __init__(self, lag: Lag, monotonic: Callable[[], float] = time.monotonic, patience_s: float = 1.0) -> None:
        self._lag = lag
        self._monotonic = monotonic
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._latest = _Reading((), 0.0, {})

    def read(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Return the lag of topics; {} if the broker does not answer."""
        wanted = tuple(dict.fromkeys(topics))
        with self._lock:
            # Keep this order: if the reader ends between the two lines, its reading is used and not due.
            is_reading = self._reader is not None and self._reader.is_alive()
            is_due = wanted != self._latest.topics or self._monotonic() >= self._latest.due_at
            if is_due and not is_reading:
                self._reader = threading.Thread(target=self._read, args=(wanted,), name="lag", daemon=True)
                self._reader.start()
            reader = self._reader
        if is_due and reader is not None:
            reader.join(self._patience_s)
        return self._latest.lag

    def _read(self, topics: tuple[str, ...]) -> None:
        try:
            lag = self._lag(topics)
        except (Unavailable, KafkaRefused):
            lag = {}
        self._latest = _Reading(topics, self._monotonic() + self._EVERY_S, lag)


def status_of(application: str, state: str, program: Program, lag: CachedLag, ends: Sequence[JobEnd]) -> dict[str, Any]:
    """Return an engine's status, as JSON.

    Args:
        state: the job's state, in words.
        ends: the job's unexpected ends, oldest first.
    """
    queries = (*program.queries, *program.waiting)
    inputs = {query.name: [source.topic for source in reads(query) if not source.is_derived] for query in queries}
    waiting = lag.read(topic for topics in inputs.values() for topic in topics)
    return {
        "application": application,
        "state": state,
        "at_ms": int(time.time() * 1000),
        "queries": [
            {
                "query": query.name,
                "writes": query.target.name,
                "topic": query.target.topic,
                "statement": query.text,
                "reads": inputs[query.name],
                "lag": _sum_of(waiting, inputs[query.name]),
                "is_paused": query in program.waiting,
            }
            for query in queries
        ],
        "ends": [{**asdict(end), "at": int(end.at * 1000)} for end in reversed(ends)],
    }


def _sum_of(waiting: Mapping[str, int], topics: Sequence[str]) -> int | None:
    """Return the pending records of a query; None if one of its topics has not been read yet."""
    if not topics or any(topic not in waiting for topic in topics):
        return None
    return sum(waiting[topic] for topic in topics)
