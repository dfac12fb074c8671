"""The first records of a service's producers through its logic, on the test driver."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.catalog import Service
from forebay.codec import Unavailable
from forebay.job import load_job
from forebay.processor.api import AnyProcessor, LateRecord, RejectedRecord
from forebay.producing.base import Event, Options, Source
from forebay.producing.frames import json_bytes
from forebay.producing.sources import records, sources_for
from forebay.serde.subjects import registering_nothing
from forebay.service.mistakes import Mistake, mistake
from forebay.testing import TestDriver

RECORDS = 100
_KEYS = 10
_IDLE_MS = 86_400_000
"""Idle time after the records: timers of a day fire, too."""

_METHODS = ("process", "on_delete", "on_timer", "on_wall_clock")
_EXPECTED = (RejectedRecord, LateRecord, Unavailable, MemoryError)


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a service's first records.

    Args:
        records: how many went in, by topic; 0 where nothing produces it.
        rejected: how many the logic refused (RejectedRecord).
        reason: why it refused the first one.
        waits: why they could not be tried to the end: something that the logic needs is away.
    """

    records: Mapping[str, int]
    outputs: int = 0
    late: int = 0
    rejected: int = 0
    reason: str = ""
    waits: str = ""


class _Witness:
    """Remembers the first error that the logic raised, since the engine reports it only in a record's headers."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def watch(self, processor: AnyProcessor) -> None:
        """Put itself before the processor's methods."""
        for name in _METHODS:
            setattr(processor, name, self._watch(getattr(processor, name)))

    def _watch(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except _EXPECTED:
                raise
            except Exception as error:
                self.error = self.error or error
                raise

        return watch


@registering_nothing()
def try_records(service: Service, settings: Any, count: int = RECORDS) -> Trial:
    """Run the first `count` records of each producer, in order of time, and a day of idle time.

    Nothing is registered: a stream over another team's topic may declare other columns than its subject accepts.

    Raises:
        Mistake: the logic failed on a record, or refused all of them; or a producer makes what its contract refuses.
        PluginError: a producer can't be used. Also the errors of TestDriver's constructor.
    """
    driver = TestDriver(service.name, settings=settings)
    witness = _Witness()
    for sub_topology in driver.sub_topologies:
        for processor in sub_topology.processors:
            witness.watch(processor)
    sources = sources_for(service)
    done: Counter[str] = Counter({topic.name: 0 for topic in service.inputs})
    try:
        for source, event in _in_order(service, sources.values(), count):
            _pipe(service, driver, source, event)
            done[source.topic] += 1
            record = f"record {done[source.topic]} of {source.topic}, key {event.key!r}"
            _require_no_mistake(service, driver, witness, record)
        if sources:
            driver.advance_wall_time(_IDLE_MS)
            _require_no_mistake(service, driver, witness, "a timer after the last record")
    except Unavailable as error:
        return Trial(done, waits=str(error))
    rejected = [failure.headers["error.message"] for failure in driver.errors]
    if rejected and len(rejected) >= done.total():
        raise Mistake(
            f"{service.name} refuses every one of its producers' first {done.total()} records, the first one because "
            f"{rejected[0]!r}: correct the producer or the rule"
        )
    return Trial(done, len(driver.outputs), len(driver.late), len(rejected), next(iter(rejected), ""))


def _in_order(service: Service, sources: Iterable[Source], count: int) -> Iterator[tuple[Source, Event[Any]]]:
    """Return the producers' records by time; of one time tables come first, as in a task."""
    tables = load_job(service.job).tables
    ordered = sorted(sources, key=lambda source: source.topic not in tables)
    streams = [_generate_events(service, source, count) for source in ordered]
    return heapq.merge(*streams, key=lambda made: made[1].timestamp)


def _generate_events(service: Service, source: Source, count: int) -> Iterator[tuple[Source, Event[Any]]]:
    options = Options(count=count, keys=_KEYS)
    try:
        for event in records(source.generator(options), options):
            yield source, event
    except Exception as error:  # a generator is the user's code and may raise anything
        raise mistake(error, service.package, f"the producer of {source.topic}") from error


def _pipe(service: Service, driver: TestDriver, source: Source, event: Event[Any]) -> None:
    topic = source.topic
    try:
        if source.contract:
            driver.pipe(event.key, event.value, topic, event.timestamp)
        else:
            driver.pipe_bytes(event.key.encode(), json_bytes(event.value), event.timestamp, topic)
    except (Unavailable, MemoryError):
        raise
    except Exception as error:  # encoding it, or reading its time, calls the user's code
        raise mistake(error, service.package, f"an event of the producer of {topic}") from error


def _require_no_mistake(service: Service, driver: TestDriver, witness: _Witness, record: str) -> None:
    if witness.error is not None:
        reason = mistake(witness.error, service.package, f"the logic of {service.name}")
        raise Mistake(f"{reason} ({record}): correct it, then run `forebay check {service.name}`", reason.log_tail)
    unexpected = [failure.headers for failure in driver.errors if failure.headers["error.class"] != "RejectedRecord"]
    if unexpected:
        said = f"{unexpected[0]['error.class']}: {unexpected[0]['error.message']}"
        raise Mistake(f"the logic of {service.name} fails: {said} ({record})")
