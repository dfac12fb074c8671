"""A trial of a service's logic with the first records of its producers, on the test driver."""

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
"""Idle time after the records, so that timers of up to a day fire."""

_METHODS = ("process", "on_delete", "on_timer", "on_wall_clock")
_EXPECTED = (RejectedRecord, LateRecord, Unavailable, MemoryError)


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of processing a service's first records.

    Args:
        records: Number of records by topic; 0 for topics without a producer.
        outputs: Number of output records.
        late: Number of late records.
        rejected: Number of records that the logic rejected (RejectedRecord).
        reason: Reason why it rejected the first one.
        waits: Reason why the trial ended early, if an external system can't be reached.
    """

    records: Mapping[str, int]
    outputs: int = 0
    late: int = 0
    rejected: int = 0
    reason: str = ""
    waits: str = ""


class _Witness:
    """The first error that the logic raised, because the engine reports errors only in a record's headers."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def watch(self, processor: AnyProcessor) -> None:
        """Wrap the processor's methods."""
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
    """Process the first `count` records of each producer in order of time, followed by a day of idle time.

    No schema is registered, because a stream of another team's topic may declare other columns than its subject allows.

    Raises:
        Mistake: The logic failed on a record or rejected all of them, or a producer's event does not fit its contract.
        PluginError: A producer can't be used.
        Disagreement: The service's entry and its job contradict each other.
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
    """Return the producers' records by time. At equal times tables come first, as in a task."""
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
