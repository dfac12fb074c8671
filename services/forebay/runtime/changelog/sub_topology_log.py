"""The changelogs of a sub-topology, and the conversion of its rows to records and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.catalog import Service
from forebay.job import load_job
from forebay.processor.api import AnyProcessor
from forebay.processor.bound_stores import declared_stores
from forebay.runtime.changelog.topics import ChangelogRouter, ChangelogRows, changelog_topics, internal_topic
from forebay.stores.binding import RowValue, Store
from forebay.stores.materialized import unlogged_names


@dataclass(frozen=True, slots=True)
class SubTopologyLog:
    """The changelogs of one sub-topology.

    Args:
        processor: declares the sub-topology's stores. It need not be bound to a task.
        stores: stores with a changelog.
        topics: changelog topic by store name.
        internal: topic of the tasks' own rows.
        unlogged: names of the stores without a changelog.
    """

    processor: AnyProcessor
    stores: tuple[Store[Any], ...]
    topics: dict[str, str]
    internal: str
    unlogged: frozenset[bytes]

    @property
    def formats(self) -> dict[str, RowValue]:
        """Format of each store's rows."""
        return {store.name: store.row_value for store in self.stores}

    def router(self, task: int) -> ChangelogRouter:
        """Return the router that converts a task's rows to records."""
        return ChangelogRouter(self.topics, self.internal, task, self.formats, self.unlogged)

    def rows(self) -> ChangelogRows:
        """Return the converter of records to rows."""
        return ChangelogRows(self.topics, self.internal, self.formats)


def sub_topology_log(application: str, sub_topology: int, processor: AnyProcessor) -> SubTopologyLog:
    """Return the changelogs of a sub-topology, whose stores `processor` declares."""
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
