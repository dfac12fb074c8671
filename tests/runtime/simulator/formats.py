"""Releases of a job that send their repartition records in other formats, and the driver's check of their start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forebay.formats import Format
from forebay.job import Job, TopicFormat
from forebay.runtime.changelog.topics import former_topics, internal_topic
from forebay.runtime.driver.committed_records import Place, Take
from forebay.runtime.driver.record_formats import RecordCheck, compare_formats
from forebay.runtime.positions import Task
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.record_formats import record_formats
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.topologies import APPLICATION, JsonCodec, Number

_READABLE = "123"
"""Formats of which each reads all others."""
FORMATS = (*_READABLE, "x", "y")
"""Names of the formats. The first byte of a value is its format's name."""


class _Marked(JsonCodec):
    """Codec of numbers as JSON, with the format's name before them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._reads = _READABLE if name in _READABLE else name

    def encode(self, record: Number) -> bytes:
        return self._name.encode() + super().encode(record)

    def decode(self, data: bytes) -> Number:
        # Such a record goes to `.errors`, where a run without edits has none.
        assert data[:1].decode() in self._reads, f"format {self._name} misreads {data!r}"
        return super().decode(data[1:])


def with_format(job: Job, name: str) -> Job:
    """Return a job that sends the values of its repartition records in a format."""
    identity: Any = ["by name", "numbers", name] if name in _READABLE else f"format {name}"
    value = Format(f"numbers {name}", Number, lambda _: _Marked(name), identify=lambda: identity)
    repartitions = [repartition for part in job.topology for repartition in part.repartitions]
    return replace(job, formats=dict.fromkeys(repartitions, TopicFormat(value=value)))


class MemoryRecords:
    """The committed records of a job's own topics. Implements `Records`."""

    def __init__(self, broker: Broker, sub_topologies: int) -> None:
        self._broker = broker
        present = [internal_topic(APPLICATION, number) for number in range(sub_topologies)]
        former = former_topics(APPLICATION, sub_topologies, {topic for topic, _ in broker.partitions})
        self._internal = [*present, *former]

    @property
    def internal(self) -> Sequence[str]:
        return self._internal

    def positions(self, tasks: int) -> Mapping[Task, TaskPosition]:
        """Return the committed positions."""
        positions: dict[Task, TaskPosition] = {}

        def take(place: Place, message: Any, _offset: int) -> None:
            if message.key() == POSITION:
                positions[self._internal.index(place[0]), place[1]] = TaskPosition.from_json(message.value())

        self.read({(topic, task): 0 for topic in self._internal for task in range(tasks)}, take)
        return positions

    def read(self, offsets: Mapping[Place, int], take: Take) -> None:
        for place, begin in offsets.items():
            partition: Any = self._broker.partitions[place]
            for record in partition.records:
                if begin <= record.offset_ < partition.stable and record.counts:
                    take(place, record, record.offset_)


def has_committed(broker: Broker, job: Job, tasks: int) -> bool:
    """Return whether all tasks have committed."""
    return len(MemoryRecords(broker, len(job.topology)).positions(tasks)) >= len(job.topology) * tasks


def check_formats(broker: Broker, job: Job, tasks: int, groups: int) -> RecordCheck:
    """Check the unread records as the driver does before the first lease. Raises FormatChanged."""
    records, formats = MemoryRecords(broker, len(job.topology)), record_formats(APPLICATION, job)
    check = compare_formats(records, formats, records.positions(tasks), tasks)
    if check.reason:
        for group in range(groups):
            broker.coordinator.init(f"{APPLICATION}-group-{group}")
        check = compare_formats(records, formats, records.positions(tasks), tasks)
    return check
