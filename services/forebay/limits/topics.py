"""The limits of a topic by its configuration: the size of a record, and the range of its timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

MAX_BYTES = "max.message.bytes"
AFTER_MAX = "message.timestamp.after.max.ms"
BEFORE_MAX = "message.timestamp.before.max.ms"
TIMESTAMP_TYPE = "message.timestamp.type"

DELETE_RETENTION = "delete.retention.ms"

UNLIMITED = (1 << 63) - 1
_KAFKA_MAX_BYTES = 1_048_588
"""Kafka's own default of max.message.bytes."""
CHANGELOG_MAX_BYTES = 2 * 1024 * 1024
SIDE_MAX_BYTES = 4 * 1024 * 1024
"""max.message.bytes with which changelogs and repartitions, or dead-letter and late topics, are created."""
CLIENT_MAX_BYTES = SIDE_MAX_BYTES
"""Largest record that producers accept for any topic (librdkafka's message.max.bytes)."""

DELETE_RETENTION_MS = 86_400_000
"""How long changelogs keep deletes, which is Kafka's default. Snapshots older than half of it are not used."""


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """The limits of one topic.

    Args:
        topic: Name of the topic, for messages.
        max_bytes: Largest record, including framing.
        after_max_ms, before_max_ms: How far a timestamp may be after and before the broker's clock, in ms.
        first_ms: Smallest timestamp. Kafka's client treats 0 as missing and writes the wall-clock time instead.
        partitions: Number of partitions; 0 if it is not known.
    """

    topic: str = ""
    max_bytes: int = _KAFKA_MAX_BYTES
    after_max_ms: int = UNLIMITED
    before_max_ms: int = UNLIMITED
    first_ms: int = 0
    partitions: int = 0

    @classmethod
    def of(
        cls, topic: str, config: Mapping[str, str], client_max_bytes: int = CLIENT_MAX_BYTES, partitions: int = 0
    ) -> TopicLimits:
        """Return the limits of a topic with this configuration. Missing settings have Kafka's defaults."""
        max_bytes = min(int(config.get(MAX_BYTES, _KAFKA_MAX_BYTES)), client_max_bytes)
        # The broker replaces the timestamp on arrival, so the record's own timestamp is never checked.
        if config.get(TIMESTAMP_TYPE) == "LogAppendTime":
            return cls(topic, max_bytes, partitions=partitions)
        after, before = (int(config.get(name, UNLIMITED)) for name in (AFTER_MAX, BEFORE_MAX))
        return cls(topic, max_bytes, after, before, 1, partitions)


_OUTPUT = TopicLimits()
_CHANGELOG = TopicLimits(max_bytes=CHANGELOG_MAX_BYTES)
_SIDE = TopicLimits(max_bytes=SIDE_MAX_BYTES)
_NONE: Mapping[str, TopicLimits] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """The limits of the topics that a task writes. By default, they have the sizes with which topics are created.

    Args:
        outputs: Limits by output topic, and by name of a repartition.
        stores: Limits of the changelogs, by store.
        internal: Limits of the changelog of the task's own rows.
        errors, late: Limits of the dead-letter topic and the late topic.
    """

    outputs: Mapping[str, TopicLimits] = field(default_factory=lambda: _NONE)
    stores: Mapping[str, TopicLimits] = field(default_factory=lambda: _NONE)
    internal: TopicLimits = _CHANGELOG
    errors: TopicLimits = _SIDE
    late: TopicLimits = _SIDE

    def output(self, target: str) -> TopicLimits:
        """Return the limits of an output."""
        return self.outputs.get(target, _OUTPUT)

    def onward(self, repartition: str) -> TopicLimits:
        """Return the limits of the records of a repartition."""
        return self.outputs.get(repartition, _CHANGELOG)

    def store(self, name: str) -> TopicLimits:
        """Return the limits of a store's changelog."""
        return self.stores.get(name, _CHANGELOG)
