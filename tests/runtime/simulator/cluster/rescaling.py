"""A rescale of the simulated job, in which the product's code rewrites the changelogs for another number of tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from forebay.job import global_tables
from forebay.runtime.changelog.topics import repartition_topic
from forebay.runtime.errors import StateConflict
from forebay.runtime.maintenance.rescale import Rescale
from tests.runtime.simulator.clients import MemoryConsumer
from tests.runtime.simulator.topologies import APPLICATION
from tests.runtime.simulator.worker import logs

if TYPE_CHECKING:
    from tests.runtime.simulator.cluster.world import Cluster


class MemoryRescale(Rescale):
    """The product's rescale, with a model of the staging topic and its publication."""

    def __init__(self, cluster: Cluster, after: int) -> None:
        job = cluster.job
        self._cluster = cluster
        self._application = APPLICATION
        self._service: Any = SimpleNamespace(name=APPLICATION)
        self._before, self._after = cluster.setup.tasks, after
        self._logs = logs(job)
        self._identities = [part.identity for part in job.topology]
        names = [name for part in job.topology for name in part.repartitions]
        self._repartitions = {repartition_topic(APPLICATION, name) for name in names}
        self._global = frozenset(global_tables(job))

    def _new_consumer(self) -> Any:
        return MemoryConsumer(self._cluster.broker, lambda _: None, self._cluster.wait)

    def run(self) -> bool:
        """Stage and publish the state. Return False if the job has no state to rescale."""
        broker = self._cluster.broker
        try:
            staged = list(self._records())
        except StateConflict:
            return False
        # A publication that is interrupted is repeated from the staging topic.
        for share in (self._cluster.random.random(), 1.0):
            topics = {*self._cluster.changelogs, *self._repartitions}
            broker.history = [record for record in broker.history if record.place[0] not in topics]
            for topic in sorted(topics):
                broker.create(topic, self._after)
            for record in staged[: int(share * len(staged))]:
                broker.append((record.topic, record.partition), record.key, record.value, record.timestamp)
        broker.marked.clear()
        return True
