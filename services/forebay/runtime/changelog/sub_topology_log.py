"""Which topics a sub-topology's rows go to, and how they are turned into records and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.catalog import Service
from forebay.job import load_job
from forebay.processor.api import AnyProcessor
from forebay.processor.declared import declared_stores
from forebay.runtime.changelog.topics import ChangelogRouter, ChangelogRows, changelog_topics, internal_topic
from forebay.stores.binding import RowValue, Store
from forebay.stores.materialized import unlogged_names


@dataclass(frozen=True, slots=True)
class SubTopologyLog:
    """The changelogs of one sub-topology.

    Args:
        processor: declares the sub-topology's stores; need not be bound to a task.
        stores: those that keep a changelog.
        internal: topic of the tasks' own rows.
        unlogged: names of the stores that keep none.
    """

    processor: AnyProcessor
    stores: tuple[Store[Any], ...]
    topics: dict[str, str]
    internal: str
    unlogged: frozenset[bytes]

    @property
    def formats(self) -> dict[str, RowValue]:
        """Return what the rows of each store consist of."""
        return {store.name: store.row_value for store in self.stores}

    def router(self, task: int) -> ChangelogRouter:
        """Return what turns a task's rows into records."""
        return ChangelogRouter(self.topics, self.internal, task, self.formats, self.unlogged)

    def rows(self) -> ChangelogRows:
        """Return what turns records into rows."""
        return ChangelogRows(self.topics, self.internal, self.formats)


def sub_topology_log(application: str, sub_topology: int, processor: AnyProcessor) -> SubTopologyLog:
    """Return the changelogs of a sub-topology that `processor` declares the stores of."""
    declared = [store for _, store in declared_stores(processor)]
    stores = tuple(store for store in declared if store.options.logging)
    topics = changelog_topics(application, (store.name for store in stores))
    return SubTopologyLog(
        processor, stores, topics, internal_topic(application, sub_topology), unlogged_names(declared)
    )


def sub_topology_logs(service: Service, application: str, logic: Mapping[str, Any]) -> list[SubTopologyLog]:
    """Return the changelogs of every sub-topology of a job; `logic` holds the logic's settings."""
    job = load_job(service.job)
    settings = job.settings(**logic)
    return [
        sub_topology_log(application, sub_topology, job.logic(sub_topology)(settings))
        for sub_topology in range(service.stages)
    ]
