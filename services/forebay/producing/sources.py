"""The topics with generators, and the records that they generate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from forebay.catalog import Service, all_services
from forebay.producing.base import FIXED_START_MS, Event, Generator, Options, Source
from forebay.producing.disorder import disorder
from forebay.service.plugins import PRODUCERS, Named, PluginError, attribute_of, yield_modules

V = TypeVar("V")

_ATTRIBUTE = "SOURCE"
_LINE = 'SOURCE = Source("topic", "service", "Record", Record, RecordGenerator, required_field="...")'


def all_sources() -> Mapping[str, Source]:
    """Return all sources by topic: those of entry points, and those that services declare.

    Raises:
        PluginError: one of them can't be used.
    """
    table = {point.name: _brought(point) for point in yield_modules(PRODUCERS)}
    for service in all_services().values():
        for source in _named_by(service):
            table.setdefault(source.topic, source)
    return MappingProxyType(table)


def sources_for(service: Service) -> Mapping[str, Source]:
    """Return the sources of a service's inputs, in their order: its own, and those of others with the same contract.

    Other services' sources are not used for an input with a format of its own, because the topic may be another team's
    with the same name. Other producers are imported only if a source is missing.

    Raises:
        PluginError: one of them can't be used.
    """
    inputs = {topic.name: topic.record for topic in service.inputs}
    own = {source.topic: source for source in _named_by(service)}
    sources = {point.name: _brought(point) for point in yield_modules(PRODUCERS) if point.name in inputs}
    if any(record and topic not in own.keys() | sources.keys() for topic, record in inputs.items()):
        sources = {**all_sources(), **sources}
    for topic, source in sources.items():
        keeps = source.contract and source.contract == inputs.get(topic)
        if keeps or source.service == service.name:
            own.setdefault(topic, source)
    return {topic: own[topic] for topic in inputs if topic in own}


def _named_by(service: Service) -> Iterator[Source]:
    for module in service.producers:
        place = f"{module} (a producer of {service.name})"
        source: Source = attribute_of(module, _ATTRIBUTE, place, _line_of(service))
        if source.topic not in {topic.name for topic in service.inputs}:
            raise PluginError(f"{module} generates events for {source.topic}, which {service.name} does not read")
        yield source


def _brought(point: Named) -> Source:
    source: Source = attribute_of(point.module, _ATTRIBUTE, point.place, _LINE)
    if source.topic != point.name:
        raise PluginError(f"{point.place} generates events for {source.topic}: name the entry point {source.topic}")
    return source


def _line_of(service: Service) -> str:
    """Return the last line of a service's producer module, for errors."""
    topic = service.inputs[0]
    return (
        f'SOURCE = Source("{topic.name}", "{service.name}", "{topic.record}", {topic.record}, '
        f'{topic.record}Generator, required_field="...")'
    )


def source_of(topic: str) -> Source:
    """Return the source of a topic. If an entry point has it, other sources are not imported.

    Raises:
        ValueError: there is no source for the topic. The message lists the topics. PluginError.
    """
    for point in yield_modules(PRODUCERS):
        if point.name == topic:
            return _brought(point)
    table = all_sources()
    if topic not in table:
        choice = f"choose one of {', '.join(sorted(table))}" if table else "no package brings a producer"
        raise ValueError(f"nothing produces the topic {topic!r}: {choice}")
    return table[topic]


def generate(topic: str, options: Options) -> Iterator[Event[Any]]:
    """Return the records for `options` in the order of sending. Repeated calls return the same records.

    The n-th record is due n / rate seconds after the start, which is the event time of regular records.
    """
    return records(source_of(topic).generator(options), options)


def records(generator: Generator[V], options: Options) -> Iterator[Event[V]]:
    """Return the records of a generator for `options`, like `generate`."""
    start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
    ms_per_event = 1000 / options.events_per_second
    indexes = count() if options.limit is None else range(options.limit)
    times = (start_ms + int(index * ms_per_event) for index in indexes)
    return disorder(generator, times, options)
