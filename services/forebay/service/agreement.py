"""Check that a service's entry in the table of services agrees with its job.

Topics and changelogs are created from the entry, but records are processed by the job. If the two differ, records are
lost: a sub-topology that the entry omits is never built, and records that are forwarded to it go nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.catalog import Service, Topic
from forebay.formats import contract_of
from forebay.job import Job
from forebay.processor.bound_stores import declared_stores
from forebay.stores.binding import Store


class Disagreement(ValueError):
    """A service's entry and its job contradict each other. The message names both and says what to write.

    Args:
        problems: A line for each difference.
    """

    def __init__(self, service: Service, problems: Sequence[str]) -> None:
        place = f"the entry of {service.name} in the table of services and its job {service.job} disagree: "
        super().__init__(place + "; ".join(problems))
        self.problems = tuple(place + problem for problem in problems)


def check_agreement(service: Service, job: Job, settings: Any = None) -> None:
    """Check that a service's entry agrees with its job.

    Args:
        settings: Settings of the logic, on which stores may depend. By default, the default settings.

    Raises:
        Disagreement: They contradict each other.
    """
    differences = disagreements(service, job, settings)
    if differences:
        raise Disagreement(service, differences)


def disagreements(service: Service, job: Job, settings: Any = None) -> list[str]:
    """Return a line for each difference between the entry and the job."""
    differences = [
        *_topics("inputs", service.inputs, job, job.inputs),
        *_topics("outputs", service.outputs, job, job.outputs),
        *_patterns(service, job),
        *_stores(service, job, job.settings() if settings is None else settings),
    ]
    stages = len(job.topology)
    if service.stages != stages:
        differences.append(
            f"the entry says stages={service.stages}, the job has {stages}: write stages={stages} in the entry, "
            "or leave it out"
        )
    return differences


def store_contracts(job: Job, settings: Any) -> dict[str, str]:
    """Return the names of the contracts of a job's stores, by store; "" if a store's format needs no contract."""
    return {store.name: contract_of(store.format) for store in _logged_stores(job, settings)}


def _logged_stores(job: Job, settings: Any) -> list[Store[Any]]:
    """Return the stores with a changelog."""
    stores = [store for sub_topology in job.topology for _, store in declared_stores(sub_topology.processor(settings))]
    return [store for store in stores if store.options.logging]


def _patterns(service: Service, job: Job) -> list[str]:
    if dict(service.patterns) == dict(job.patterns):
        return []
    said = f"patterns are {dict(service.patterns)} in the entry, {dict(job.patterns)} in the job"
    return [f"{said}: write patterns={dict(job.patterns)} in the entry"]


def _topics(what: str, said: tuple[Topic, ...], job: Job, declared: Mapping[str, type[Any]]) -> list[str]:
    entry = {topic.name: topic.record for topic in said}
    actual = {topic: job.contract(topic, record) for topic, record in declared.items()}
    if entry != actual:
        written = ", ".join(f'Topic("{topic}", "{record}")' for topic, record in actual.items())
        return [
            f"{what} are {entry} in the entry, {actual} in the job: "
            f"write {what}=({written},) in the entry, or correct it"
        ]
    if what == "outputs" and list(entry) != list(actual):
        first = next(iter(actual))
        return [
            f"the first output, where results go by default, is {next(iter(entry))} in the entry, {first} in the job: "
            f"write {first} first in the entry"
        ]
    return []


def _stores(service: Service, job: Job, settings: Any) -> list[str]:
    declared = store_contracts(job, settings)
    names = [store.name for store in _logged_stores(job, settings)]
    lines = [
        f"two stages of the job declare the store {name!r}: choose different names"
        for name in declared
        if names.count(name) > 1
    ]
    if dict(service.stores) != declared:
        said = f"stores are {dict(service.stores)} in the entry, {declared} in the job"
        lines.append(f"{said}: write stores={declared} in the entry")
    return lines
