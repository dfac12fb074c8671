"""The driver's part of a backfill: one lease for each group, and positions from which a job continues."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from confluent_kafka import Consumer, Producer

from forebay.kafka.topic_limits import batch_limit
from forebay.partitioner import Partitioner
from forebay.processor.batch import BatchResult
from forebay.runtime.changelog.topics import ChangelogRouter, internal_topic
from forebay.runtime.positions import Task, committed_positions
from forebay.runtime.protocol.backfills import FINISHED, refuse_other_positions
from forebay.runtime.protocol.lease import Lease, Partitioned
from forebay.runtime.protocol.position import Ends, TaskPosition
from forebay.runtime.spark.planner import LeasePlanner
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.commit import Destinations, TaskCommit
from forebay.runtime.task.partition_queue import EVER
from forebay.runtime.worker.transaction import GroupProducer
from forebay.service.renaming import actual_names


class Backfill:
    """One run of a backfill.

    Args:
        checkpoint: identifies the history (see `backfill_checkpoint`).
        numbered: the broker's names of inputs whose history has the offsets of the topic.

    Raises:
        StopJob: the application has positions of a job, or of another backfill. Unavailable.
    """

    def __init__(self, spec: JobSpec, checkpoint: str, numbered: Collection[str]) -> None:
        self.spec = spec
        self._checkpoint = checkpoint
        self._numbered = numbered
        self._number = int(time.time())
        """Number of the leases, new in each run, because a sender that was done in an earlier run may not be now."""
        refuse_other_positions(spec.application, self._positions().values(), checkpoint)
        self._start: Partitioned = LeasePlanner(spec).start_positions()

    def lease(self, group: int) -> Lease:
        """Return the lease under which a group processes its history."""
        spec, begins = self.spec, {topic: (0,) * len(offsets) for topic, offsets in self._start.items()}
        ends = {topic: (EVER,) * len(offsets) for topic, offsets in begins.items()}
        return Lease(self._checkpoint, self._number, group, spec.groups, spec.tasks, now_ms(), begins, ends)

    def hand_over(self) -> None:
        """Commit the final positions of all tasks in one transaction, so that a job continues after the history.

        Raises:
            StopJob: another job or backfill has committed since the start. Unavailable.
        """
        spec = self.spec
        refuse_other_positions(spec.application, self._positions().values(), self._checkpoint)
        markers = Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group}))
        try:
            producers = [self._producer(markers, group) for group in range(spec.groups)]
            # A commit returns before the broker has made its records readable. Until then a task seems to have no
            # position, or an earlier one. Fencing a group waits until they are readable.
            for producer in producers:
                producer.fence()
            positions = self._positions()
            refuse_other_positions(spec.application, positions.values(), self._checkpoint)
            # A task that had nothing to commit has no position. It begins like the task of a new job.
            commits = [self._commit(place, position) for place, position in sorted(positions.items())]
            producers[0].commit(commits, [commit.position for commit in commits])
        finally:
            markers.close()

    def _producer(self, markers: Consumer, group: int) -> GroupProducer:
        spec, service = self.spec, self.spec.entry
        identity = {
            "transactional.id": spec.transactional_id(group),
            "transaction.timeout.ms": spec.transaction_timeout_ms,
            **batch_limit(spec.kafka, spec.topic_limits),
        }
        destinations = Destinations(
            service.errors.name, service.late.name, {}, Partitioner(spec.tasks), actual_names(service.outputs)
        )
        return GroupProducer(markers, lambda: Producer(spec.kafka.producer(**identity)), destinations)

    def _commit(self, place: Task, position: TaskPosition) -> TaskCommit:
        spec, (sub_topology, task) = self.spec, place
        last = replace(position, checkpoint=FINISHED, n=position.n + 1, ends=self._ends(position))
        router = ChangelogRouter({}, internal_topic(spec.application, sub_topology), task)
        return TaskCommit(f"{spec.application}-{sub_topology}-{task}", "", BatchResult(), last, router)

    def _ends(self, position: TaskPosition) -> Ends:
        """Return the offsets at which the task continues: after a history with offsets, or where a new job begins."""
        begins = self._start
        return tuple(
            (topic, partition, end)
            if topic not in begins or (topic in self._numbered and end > 0)
            else (topic, partition, begins[topic][partition])
            for topic, partition, end in position.ends
        )

    def _positions(self) -> dict[Task, TaskPosition]:
        spec = self.spec
        return committed_positions(spec.kafka, spec.entry, spec.application, spec.tasks)
