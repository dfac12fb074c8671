"""Other names for a service's input and output topics, as the user's broker has them.

Logic, job and contracts still use the names of the table of services; consumers, producers, subjects of the registry
and rights use the broker's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from forebay.catalog import Service, Topic
from forebay.utils.names import IllegalName


class WrongTopics(ValueError):
    """Topics can't be named so; says which name, why, and what to write."""


def rename(service: Service, names: Mapping[str, str]) -> Service:
    """Return the service with other names of topics, by the names it declares.

    Raises:
        WrongTopics: it declares no such topic, Kafka takes no such name, or two topics would be one.
    """
    if not names:
        return service
    taken_names((service,), names)
    result = replace(service, inputs=_rename_all(service.inputs, names), outputs=_rename_all(service.outputs, names))
    _require_apart(result)
    return result


def actual_names(topics: Iterable[Topic]) -> dict[str, str]:
    """Return the names of topics on the broker by the job's names for them, if they differ."""
    return {topic.declared: topic.name for topic in topics if topic.name != topic.declared}


def actual_topics(topics: Iterable[Topic], names: Collection[str]) -> frozenset[str]:
    """Return the broker's names of those topics that the job knows by `names`."""
    return frozenset(topic.name for topic in topics if topic.declared in names)


def taken_names(services: Sequence[Service], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return which of the names each service takes, by its name: a topic may be that of several.

    Raises:
        WrongTopics: none of them has such a topic.
    """
    declared = {service.name: {topic.declared for topic in (*service.inputs, *service.outputs)} for service in services}
    for name in names:
        if not any(name in own for own in declared.values()):
            known = sorted(set().union(*declared.values()))
            said = f"{', '.join(declared)} {'has' if len(declared) == 1 else 'have'}"
            raise WrongTopics(f"{said} no input or output topic {name}: choose from {', '.join(known)}")
    return {service: {name: names[name] for name in names if name in own} for service, own in declared.items()}


def require_apart(services: Sequence[Service]) -> None:
    """Refuse names by which two services would write one topic, though they declare two. Raises WrongTopics."""
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
    """Refuse names by which two topics would be one; one that is read and written is one by declaration."""
    declared = {(topic.declared, topic.name) for topic in (*service.inputs, *service.outputs)}
    own = service.own_topics(service.application or service.name, 1)
    names = [name for _, name in declared] + [topic.name for topic in (service.errors, service.late, *own)]
    for name, count in Counter(names).items():
        if count > 1:
            those = sorted({was for was, now in declared if now == name})
            what = " and ".join(those) if len(those) > 1 else f"{those[0]} and a topic of the job itself"
            raise WrongTopics(f"{what} would both be {name}: give each topic a name of its own")
