"""Checks and preparations before a job starts: its topics, its contracts, its number of tasks."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from forebay.catalog import Service, Topic
from forebay.codec import registering
from forebay.formats import contract_of, no_contracts
from forebay.job import Job, load_job
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.codecs import register_contract
from forebay.kafka.identities import rescale_topic
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.processor.bound_stores import declared_stores
from forebay.runtime.changelog.topics import former_topics, internal_topic
from forebay.runtime.errors import StopJob
from forebay.runtime.protocol.gaps import AcceptedGaps
from forebay.serde.subjects import connect

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 8.0


class TopicsUnfit(StopJob):
    """Topics are missing or don't fit the job. The message names them and the remedy."""


def count_tasks(
    kafka: KafkaSettings, service: Service, application: str, tasks: int, global_tables: Collection[str] = ()
) -> int:
    """Return the job's number of tasks: `tasks` if set, or the partitions of its changelogs, or those of an input.

    Args:
        tasks: the requested number; 0: none.
        global_tables: inputs of which every task reads all partitions. They may have any number of partitions.

    Raises:
        TopicsUnfit: an input is missing, or its partitions are no multiple of the tasks.
    """
    internal = internal_topic(application, 0)
    partitions_of = TopicAdmin(kafka, _ANSWER_SECONDS).partitions([*(topic.name for topic in service.inputs), internal])
    own = partitions_of.pop(internal, None)
    for topic in service.inputs:
        if topic.name not in partitions_of:
            raise TopicsUnfit(f"the input topic {topic.name} does not exist: `forebay topics create {service.name}`")
    shared = {name: partitions for name, partitions in partitions_of.items() if name not in global_tables}
    # If the job has run before, its changelogs decide. Another number would assign keys to tasks without their rows.
    count = tasks or own or next((shared[t.name] for t in service.inputs if t.name in shared), 1)
    for name, partitions in shared.items():
        if partitions % count:
            raise TopicsUnfit(
                f"{name} has {partitions} partitions, which is not a multiple of {count} tasks: records would be "
                "processed with the state of other keys. Use --tasks with a divisor of the partitions of every input"
            )
    return count


def check_topics(kafka: KafkaSettings, service: Service, application: str, tasks: int) -> None:
    """Refuse to start without the job's topics. Raises TopicsUnfit."""
    sided = service.as_application(application)
    needed: list[Topic] = [*service.outputs, sided.errors, sided.late, *service.own_topics(application, tasks)]
    rescaling = rescale_topic(application)
    partitions_of = TopicAdmin(kafka, _ANSWER_SECONDS).partitions([*(topic.name for topic in needed), rescaling])
    if rescaling in partitions_of:
        raise TopicsUnfit(
            f"a change of the number of tasks is not complete: run `forebay rescale {service.name} --tasks "
            f"{partitions_of[rescaling]}` to complete it"
        )
    missing = [topic.name for topic in needed if topic.name not in partitions_of]
    if missing:
        raise TopicsUnfit(
            f"topics are missing: {', '.join(missing)}: `{_create(service, application, tasks)}` creates them"
        )
    own = {topic.name: partitions_of[topic.name] for topic in service.own_topics(application, tasks)}
    refuse_partitions(own, tasks, _create(service, application, tasks))


def refuse_partitions(own: Mapping[str, int], tasks: int, create: str) -> None:
    """Refuse a job whose own topics do not have one partition for each task.

    Args:
        own: partitions by topic.
        create: the command that creates the job's topics.

    Raises:
        TopicsUnfit: names the remedy.
    """
    others = {name: partitions for name, partitions in own.items() if partitions != tasks}
    if not others:
        return
    counts = set(others.values())
    if len(others) == len(own) and len(counts) == 1:
        (before,) = counts
        raise TopicsUnfit(
            f"the job's own topics have {before} partitions each, one for each task, but it was started with {tasks} "
            f"tasks. Start it with --tasks {before}; `forebay rescale` changes the number of tasks"
        )
    held = ", ".join(f"{name} ({partitions} partitions)" for name, partitions in others.items())
    raise TopicsUnfit(
        f"the job has {tasks} tasks, and some of its own topics have another number of partitions: {held}. They were "
        "written by a sub-topology or store that the job did not have when its number of tasks changed, so their rows "
        f"belong to other tasks. Delete these topics, then run `{create}`: what they held is lost, and that "
        "sub-topology or store begins without state"
    )


def find_former(kafka: KafkaSettings, service: Service, application: str, tasks: int) -> tuple[str, ...]:
    """Return the internal changelogs of sub-topologies that the job no longer has, and log that they are kept.

    Those with another number of tasks are left out, because their partitions belong to other tasks.
    """
    admin = TopicAdmin(kafka, _ANSWER_SECONDS)
    partitions_of = admin.partitions(former_topics(application, service.stages, admin.names()))
    former = tuple(name for name, partitions in partitions_of.items() if partitions == tasks)
    others = [f"{name} ({partitions} partitions)" for name, partitions in partitions_of.items() if partitions != tasks]
    if others:
        log.warning(
            "%s: an earlier release had more sub-topologies, with another number of tasks than %d: the contents of "
            "%s are not used. Delete these topics before you add the sub-topologies again. The sub-topologies then "
            "start from the beginning",
            application,
            tasks,
            ", ".join(others),
        )
    if former:
        log.warning(
            "%s: an earlier release had more sub-topologies: the contents of %s are kept in case a later release "
            "adds them again; `forebay reset` deletes them",
            application,
            ", ".join(former),
        )
    return former


def check_gaps(service: Service, accepted: Iterable[str]) -> None:
    """Refuse to accept gaps of topics that the job does not read. Raises TopicsUnfit."""
    read = {topic.name for topic in service.inputs}
    unknown = sorted(AcceptedGaps.parse(accepted).all_topics - read)
    if unknown:
        raise TopicsUnfit(
            f"--accept-gap {', '.join(unknown)}: {service.name} reads {', '.join(sorted(read)) or 'no topic'}: use "
            "the broker's name of one of its input topics"
        )


def _create(service: Service, application: str, tasks: int) -> str:
    own = "" if application == service.name else f" --application {application}"
    return f"forebay topics create {service.name}{own} --tasks {tasks}"


def register_contracts(kafka: KafkaSettings, service: Service, application: str) -> Mapping[str, int]:
    """Register every contract that the job reads or writes; return their ids by topic.

    Raises:
        RegistryRefused: an incompatible contract, with the registry's reason. RegistryUnavailable.
    """
    registry = SchemaRegistry(kafka.registry())
    connect(registry)
    # Before the first record, because a schema that the registry refuses must stop the start, not a commit in each
    # worker.
    _register_formats(load_job(service.job))
    return {
        topic.name: register_contract(registry, service.name, topic.record, topic.name).schema_id
        for topic in service.topics(application)
        if topic.record
    }


def _register_formats(job: Job) -> None:
    """Register the schemas of outputs whose formats have their own. Raises as `register_contracts`."""
    for topic in job.outputs:
        for kind in job.format_of(topic):
            if kind is not None and not contract_of(kind):
                register = registering(kind.codec(no_contracts))
                if register is not None:
                    register()


def warn_of_unlogged_stores(service: Service, application: str, logic: Mapping[str, Any]) -> None:
    """Log a warning about the stores that are empty after each start.

    Args:
        logic: settings of the service's logic.
    """
    job = load_job(service.job)
    processors = [sub_topology.processor(job.settings(**logic)) for sub_topology in job.topology]
    names = sorted(
        store.name
        for sub_topology in processors
        for _, store in declared_stores(sub_topology)
        if not store.options.logging
    )
    if names:
        log.warning(
            "%s: the stores %s have no changelog: they are empty after each start", application, ", ".join(names)
        )
