"""Declarations and descriptions of topics, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from forebay.catalog import COMPACTION_LAG, Topic
from forebay.limits.topics import DELETE_RETENTION

BROKER_DEFAULT = -1
AT_CREATION = frozenset({"message.timestamp.after.max.ms", COMPACTION_LAG, DELETE_RETENTION})
"""Configurations that earlier releases did not set. The start of a job checks them (runtime/broker/broker_problems.py,
runtime/driver/compacted_inputs.py). A comparison ignores them."""

_NO_CONFIG: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic as declared.

    Args:
        name: the topic's name.
        partitions: number of partitions.
        config: topic configuration that differs from the broker's defaults.
        replication_factor: number of replicas; BROKER_DEFAULT: the broker decides.
        may_grow: whether a multiple of `partitions` is accepted, too, because keys stay with their task.
        is_input: whether other producers write and own it. Then only its partitions are compared.
    """

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=lambda: _NO_CONFIG)
    replication_factor: int = BROKER_DEFAULT
    may_grow: bool = False
    is_input: bool = False

    def fits(self, partitions: int) -> bool:
        """Return whether a topic with a number of partitions matches the declaration."""
        return partitions == self.partitions or (self.may_grow and partitions > 0 == partitions % self.partitions)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """An existing topic.

    Args:
        name: the topic's name.
        topic_id: distinguishes it from an earlier topic of the same name.
        partitions: number of partitions.
        replication_factor: smallest number of replicas of its partitions.
        config: its whole configuration, including the broker's defaults.
        own: names of the configurations that were set for this topic.
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    own: frozenset[str]


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """A difference between an existing topic and its declaration."""

    topic: str
    what: str
    declared: str
    existing: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.what} is {self.existing}, should be {self.declared}; {self.remedy}"


def spec_of(topic: Topic, replication_factor: int = BROKER_DEFAULT, *, is_input: bool = False) -> TopicSpec:
    """Return the specification of a topic that a service declares.

    Args:
        replication_factor: BROKER_DEFAULT: that of the topic's declaration.
        is_input: see TopicSpec.
    """
    if replication_factor == BROKER_DEFAULT:
        replication_factor = topic.replicas or BROKER_DEFAULT
    return TopicSpec(topic.name, topic.partitions, topic.config, replication_factor, not topic.own, is_input)


def alter_command(topic: str, name: str, value: str) -> str:
    """Return the kafka-configs command that sets a topic's configuration."""
    return f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config {name}={value}"


def differences(spec: TopicSpec, existing: TopicDescription) -> tuple[TopicDifference, ...]:
    """Return all differences of `existing` from its declaration, each with its remedy."""
    result: list[TopicDifference] = []

    def add(what: str, declared: object, actual: object, remedy: str) -> None:
        if str(declared) != str(actual):
            result.append(TopicDifference(spec.name, what, str(declared), str(actual), remedy))

    if not spec.fits(existing.partitions):
        grow = f"add partitions up to a multiple of {spec.partitions}, " if spec.may_grow else ""
        recreate = f"{grow}drain it, delete it and create it again, or declare what exists"
        add(
            "the number of partitions",
            spec.partitions,
            existing.partitions,
            f"partitions decide where keys and state are: {recreate}",
        )
    if spec.is_input:
        return tuple(result)
    if spec.replication_factor > existing.replication_factor:
        reassign = "change it with kafka-reassign-partitions"
        add("the replication factor", spec.replication_factor, existing.replication_factor, reassign)
    for name, value in sorted(spec.config.items()):
        if name not in AT_CREATION:
            add(name, value, existing.config.get(name, "unknown"), alter_command(spec.name, name, value))
    return tuple(result)
