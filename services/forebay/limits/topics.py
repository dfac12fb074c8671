"""What a topic takes, by its configuration: the size of a record, and how far its timestamp may be off."""

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
"""What changelogs, repartitions and side topics are created with."""
CLIENT_MAX_BYTES = SIDE_MAX_BYTES
"""What producers accept, regardless of the topic's limit (librdkafka's message.max.bytes): what any own topic takes."""

DELETE_RETENTION_MS = 86_400_000
"""How long changelogs keep deletes, Kafka's own default: a snapshot older than half of it is not completed."""


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """What one topic takes.

    Args:
        topic: its name, for messages.
        max_bytes: largest record, framing included.
        after_max_ms, before_max_ms: how far a timestamp may lie ahead of the broker's clock, and behind it.
        first_ms: smallest timestamp. Kafka's client takes 0 for "not given" and writes the wall clock instead.
        partitions: how many it has; 0: that is not known.
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
    """What the topics take that a task writes to. Those not named take what ours are created with, at any time.

    Args:
        outputs: by topic; repartitions by their names.
        stores: those of the changelogs, by store.
        internal: the changelog of the task's own rows.
        errors, late: the service's side topics.
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
