"""Renaming of a service's input and output topics to their names on the user's broker.

Logic, job and contracts use the names of the table of services. Consumers, producers, subjects of the registry and
rights use the names on the broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from forebay.catalog import Service, Topic
from forebay.utils.names import IllegalName


class WrongTopics(ValueError):
    """Topics can't have these names. The message says which name, why, and what to write."""


def rename(service: Service, names: Mapping[str, str]) -> Service:
    """Return the service with renamed topics.

    Args:
        names: New names, by declared name.

    Raises:
        WrongTopics: The service has no such topic, Kafka does not allow a name, or two topics would have the same name.
    """
    if not names:
        return service
    taken_names((service,), names)
    result = replace(service, inputs=_rename_all(service.inputs, names), outputs=_rename_all(service.outputs, names))
    _require_apart(result)
    return result


def actual_names(topics: Iterable[Topic]) -> dict[str, str]:
    """Return the names on the broker of renamed topics, by their names in the job."""
    return {topic.declared: topic.name for topic in topics if topic.name != topic.declared}


def actual_topics(topics: Iterable[Topic], names: Collection[str]) -> frozenset[str]:
    """Return the names on the broker of the topics whose names in the job are in `names`."""
    return frozenset(topic.name for topic in topics if topic.declared in names)


def taken_names(services: Sequence[Service], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the new names that apply to each service, by service. A topic may belong to several services.

    Raises:
        WrongTopics: No service has such a topic.
    """
    declared = {service.name: {topic.declared for topic in (*service.inputs, *service.outputs)} for service in services}
    for name in names:
        if not any(name in own for own in declared.values()):
            known = sorted(set().union(*declared.values()))
            said = f"{', '.join(declared)} {'has' if len(declared) == 1 else 'have'}"
            raise WrongTopics(f"{said} no input or output topic {name}: choose from {', '.join(known)}")
    return {service: {name: names[name] for name in names if name in own} for service, own in declared.items()}


def require_apart(services: Sequence[Service]) -> None:
    """Raise WrongTopics if two services would write the same topic although they declare different ones."""
    written: dict[str, str] = {}
    for topic in (topic for service in services for topic in service.outputs):
        if written.setdefault(topic.name, topic.declared) != topic.declared:
            raise WrongTopics(f"two services would write {topic.name}: give each output a name of its own")


def _rename_all(topics: tuple[Topic, ...], names: Mapping[str, str]) -> tuple[Topic, ...]:
    try:
        return tuple(
            replace(topic, name=names.get(topic.declared, topic.name), alias=topic.declared) for topic in topics
        )
    except IllegalName as error:
        raise WrongTopics(str(error)) from error


def _require_apart(service: Service) -> None:
    """Raise WrongTopics if two declared topics would have the same name. A topic may be both input and output."""
    declared = {(topic.declared, topic.name) for topic in (*service.inputs, *service.outputs)}
    own = service.own_topics(service.application or service.name, 1)
    names = [name for _, name in declared] + [topic.name for topic in (service.errors, service.late, *own)]
    for name, count in Counter(names).items():
        if count > 1:
            those = sorted({was for was, now in declared if now == name})
            what = " and ".join(those) if len(those) > 1 else f"{those[0]} and a topic of the job itself"
            raise WrongTopics(f"{what} would both be {name}: give each topic a name of its own")
