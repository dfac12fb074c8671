"""Plans leases, in Spark's source process, and describes the topics that leases are planned for."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.job import global_tables, load_job
from forebay.kafka.errors import NotAuthorized
from forebay.runtime.broker.requests import BrokerView, check_same
from forebay.runtime.errors import StateConflict, TopicChanged, Unavailable
from forebay.runtime.positions import closing_times, committed_positions
from forebay.runtime.protocol.lease import LeaseOffset, Partitioned, digest_topics
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spec import JobSpec, recall_matches
from forebay.runtime.task.clock import now_ms
from forebay.service.renaming import actual_topics

log = logging.getLogger(__name__)


class LeasePlanner:
    """Plans leases for a job.

    Args:
        clients: clients of the broker; None: new ones.
        control: returns the driver's side of the control group.
        clock: the driver's wall clock in ms.
        timeout: seconds for each request to the broker.

    Attributes:
        whole: the topics of global tables, of which every task reads all partitions.
    """

    def __init__(
        self,
        spec: JobSpec,
        clients: tuple[AdminClient, Consumer] | None = None,
        control: Callable[[], DriverControl] | None = None,
        clock: Callable[[], int] = now_ms,
        timeout: float = 10.0,
    ) -> None:
        recall_matches(spec)
        self.spec = spec
        service = spec.entry
        topics = tuple(sorted(topic.name for topic in service.inputs))
        own = tuple(topic.name for topic in service.topics(spec.application) if topic.name not in topics)
        changelogs = {topic.name for topic in service.own_topics(spec.application, spec.tasks)}
        self.broker = BrokerView(*(clients or _clients(spec)), topics, timeout, own)
        self._control = control or (lambda: DriverControl(spec))
        self._clock = clock
        self.whole = actual_topics(service.inputs, global_tables(load_job(service.job)))
        self._remembered = changelogs.union(topics)
        self._until: Partitioned | None = None
        self._is_planned = False
        self._unreachable_since: float | None = None
        self._ended_at = -1
        """Time (ms) of the latest known command, which ends the leases that were planned until then."""

    def freeze(self) -> None:
        """Fix the end offsets of this run. Later records are left to the next run."""
        self._until = {} if self.spec.restore_only else self.broker.latest()

    def plan(self, start: dict[str, Any]) -> dict[str, Any]:
        """Return the end of the next lease; `start` itself if nothing is left to do."""
        begin = LeaseOffset.from_json(start)
        # Spark has only the sentinel: this is the first lease of the checkpoint.
        if begin is None:
            self._is_planned = True
            return self._first().to_json()
        if begin.tasks != self.spec.tasks:
            raise StateConflict(
                f"the checkpoint has {begin.tasks} tasks, the changelogs {self.spec.tasks}: the number of tasks "
                "was changed after the checkpoint. Move it away, and `forebay restore` creates one from the changelogs"
            )
        removed = sorted(begin.start.keys() - {topic.name for topic in self.spec.entry.inputs})
        if removed:
            begin = self._without(begin, removed)
        # Each lease occupies a slot until it ends. With fewer slots than groups, some groups would never get a lease.
        if begin.groups > self.spec.groups:
            raise StateConflict(
                f"the checkpoint has {begin.groups} task groups, but there are slots for {self.spec.groups}: start "
                f"with --slots {begin.groups}; or move the checkpoint away: `forebay run --restore` creates another"
            )
        close_until = -1
        # This run has planned the leases with these ends, and Spark asks again because they are over.
        if self._until is not None and self._is_planned:
            close_until = self._alignment_time()
            if close_until < 0:
                # For Spark, an end that equals the start means that there is nothing left to do.
                return start
        self._is_planned = True
        return self._check_offset(
            replace(
                begin,
                number=begin.number + 1,
                # Always later than the previous plan, even if the clock was set back. A command ends all leases that
                # were planned up to its time, so the leases of two plans must have different times.
                planned_at=max(self._now(), begin.planned_at + 1),
                until=self._until,
                restore=False,
                restore_only=False,
                close_until=close_until,
            )
        ).to_json()

    def topics(self) -> str | None:
        """Return `Lease.topics` of a lease planned now; "" if a topic is gone, None while the broker is unavailable."""
        try:
            ids = self._topic_ids()
        except TopicChanged:
            return ""
        except Unavailable as error:
            self._outage(error)
            return None
        self._outage(None)
        return digest_topics(ids, self.broker.partitions)

    def _now(self) -> int:
        """Return the time (ms) of a new plan: after every command, because a command may be ahead of the clock."""
        control = self._control()
        try:
            self._ended_at = max(self._ended_at, control.last_command())
        except KafkaException as error:
            log.debug("the control group can't be read: %s", error)
        finally:
            control.close()
        return max(self._clock(), self._ended_at + 1)

    def _without(self, begin: LeaseOffset, removed: Sequence[str]) -> LeaseOffset:
        """Return an offset without the topics that the job no longer reads.

        Raises:
            StateConflict: the job still reads them under another name.
        """
        new = [topic for topic in self.spec.entry.inputs if topic.name not in begin.start]
        renamed = [topic.name for topic in new if topic.alias or topic.declared in removed]
        if renamed:
            raise StateConflict(
                f"the checkpoint was created with the input {', '.join(removed)}, but the job reads "
                f"{', '.join(renamed)} instead: start it with the same --topic options as before, or start over with "
                "`forebay reset`"
            )
        log.warning(
            "%s: no longer reads %s: the offsets are kept, and reading continues there if a later release reads them",
            self.spec.application,
            ", ".join(removed),
        )
        return replace(begin, start={topic: ends for topic, ends in begin.start.items() if topic not in removed})

    def check_topics(self, offset: LeaseOffset) -> dict[str, str]:
        """Return the ids of inputs and own topics. Those in `offset` must be equal; other topics are new.

        Raises:
            TopicChanged: a topic was recreated, or any of the job's topics is gone. Unavailable.
        """
        ids = self._topic_ids()
        check_same(offset.topic_ids, ids)
        return ids

    def _check_offset(self, offset: LeaseOffset) -> LeaseOffset:
        """Return the offset, updated to the present topics; unchanged while the broker is unavailable."""
        try:
            ids = self.check_topics(offset)
            start = adopt_partitions(offset.start, self.broker.earliest(), offset.tasks, self.whole)
        # An outage must not end the query. The leases are planned for the same topics as before, and the next
        # comparison shows changed topics.
        except Unavailable as error:
            self._outage(error)
            return offset
        self._outage(None)
        return replace(offset, topic_ids=ids, start=start)

    def _first(self) -> LeaseOffset:
        spec = self.spec
        return LeaseOffset(
            checkpoint=uuid.uuid4().hex,
            number=1,
            groups=spec.groups,
            tasks=spec.tasks,
            planned_at=self._now(),
            start=self.start_positions(),
            topic_ids=self._topic_ids(),
            until=self._until,
            restore=spec.restore,
            restore_only=spec.restore_only,
        )

    def start_positions(self) -> Partitioned:
        """Return the offsets at which a job without positions begins to read. Raises Unavailable."""
        start = self.spec.start
        if start.position == "earliest":
            return self.broker.earliest()
        chosen = self.broker.latest() if start.position == "latest" else self.broker.from_time(start.timestamp_ms)
        # A global table is read whole, even if the streams begin later.
        return {**chosen, **{t: begin for t, begin in self.broker.earliest().items() if t in self.whole}}

    def _alignment_time(self) -> int:
        """Return the time (ms) to which all closing times must advance; -1 if that is not wanted, or not needed."""
        spec = self.spec
        if not spec.align:
            return -1
        times = closing_times(committed_positions(spec.kafka, spec.entry, spec.application, spec.tasks))
        latest = max(times.values(), default=-1)
        return -1 if all(time == latest for time in times.values()) else latest

    def _topic_ids(self) -> dict[str, str]:
        return {topic: topic_id for topic, topic_id in self.broker.topic_ids().items() if topic in self._remembered}

    def _outage(self, error: Unavailable | None) -> None:
        if error is not None:
            if self._unreachable_since is None:
                self._unreachable_since = time.monotonic()
                what = "the broker refuses" if isinstance(error, NotAuthorized) else "the broker can't be reached"
                log.warning("%s: %s: %s: retrying until it answers", self.spec.application, what, error)
        elif self._unreachable_since is not None:
            seconds = time.monotonic() - self._unreachable_since
            log.warning("%s: the broker answers again after %.1f s", self.spec.application, seconds)
            self._unreachable_since = None


def _clients(spec: JobSpec) -> tuple[AdminClient, Consumer]:
    probe = Consumer(spec.kafka.consumer(**{"group.id": spec.probe_group}))
    return AdminClient(spec.kafka.admin()), probe


def adopt_partitions(
    start: Partitioned, earliest: Partitioned, tasks: int, whole: Collection[str] = frozenset()
) -> Partitioned:
    """Return the offsets at which reading begins, with new partitions and topics, which are read from their beginning.

    Args:
        earliest: first offsets of all topics that the job reads.
        whole: topics of which every task reads all partitions. They may have any number of partitions.

    Raises:
        TopicChanged: partitions are gone, or their number does not fit the tasks.
    """
    for topic in sorted(start.keys() | earliest.keys()):
        begins, count = start.get(topic, ()), len(earliest.get(topic, ()))
        if count < len(begins):
            raise TopicChanged(
                f"{topic}: {len(begins)} partitions were read so far, the topic has {count} now: it was deleted or "
                "recreated. Restore it, or start over with `forebay reset`"
            )
        # Partition p belongs to task p % tasks. With another remainder, a key's records and rows would be in different
        # tasks.
        if count % tasks and topic not in whole:
            raise TopicChanged(
                f"{topic}: {count} partitions can't be spread over {tasks} tasks without moving keys between "
                f"them: use a multiple of {tasks} partitions, or start over with another number of tasks"
            )
    return {topic: (*start.get(topic, ()), *begins[len(start.get(topic, ())) :]) for topic, begins in earliest.items()}
