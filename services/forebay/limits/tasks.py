"""Limits of the topics that a service's tasks write to, as the brokers report them or as the topics are created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from forebay.catalog import Service, Topic
from forebay.limits.topics import TaskLimits, TopicLimits


def declared_limits(topics: Iterable[Topic]) -> dict[str, TopicLimits]:
    """Return the limits of topics as they are created, by name."""
    return {topic.name: TopicLimits.of(topic.name, topic.config) for topic in topics}


def task_limits(
    service: Service,
    application: str = "",
    sub_topology: int = 0,
    known: Mapping[str, TopicLimits] = MappingProxyType({}),
) -> TaskLimits:
    """Return the limits of a sub-topology's tasks.

    Args:
        application: Application id; "" for the service's name.
        sub_topology: Number of the sub-topology.
        known: Limits that the brokers report, by topic. Other topics have the limits with which they are created.
    """
    name = application or service.name
    service = service.as_application(application)
    changelogs, repartitions = service.changelogs(name, 1), service.repartitions(name, 1)
    limits = {**declared_limits((*service.outputs, service.errors, service.late, *changelogs, *repartitions)), **known}
    onward = {topic.name.removeprefix(f"{name}-").removesuffix("-repartition"): topic.name for topic in repartitions}
    return TaskLimits(
        outputs={
            **{topic.declared: limits[topic.name] for topic in service.outputs},
            **{repartition: limits[topic] for repartition, topic in onward.items()},
        },
        stores={store: limits[topic.name] for store, topic in zip(service.stores, changelogs, strict=False)},
        internal=limits[changelogs[len(service.stores) + sub_topology].name],
        errors=limits[service.errors.name],
        late=limits[service.late.name],
    )
