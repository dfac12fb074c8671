"""Requests to the broker that a task group makes in addition to its reader and producer."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from forebay.job import Job
from forebay.kafka.errors import failure_of
from forebay.runtime.broker.requests import BrokerView, check_same
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.reads import task_input
from forebay.runtime.task.record_formats import record_formats
from forebay.runtime.task.tail import Tail
from forebay.runtime.worker.ends import last_stable
from forebay.runtime.worker.tails import read_tails
from forebay.stores.memory import MemoryTable

log = logging.getLogger(__name__)

_COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""Errors of a broker that was just started."""

_SECONDS = 60.0

_RESTORING = {"fetch.wait.max.ms": 10}
"""An empty fetch shows a partition's end, and the broker answers it only after this time. With the default, this takes
half a second, three times at a start."""


class GroupSurroundings:
    """Implements `Surroundings` (see `group`).

    Args:
        markers: consumer of the marker group that does not wait for open transactions.
        names: the broker's names of input topics, by the job's names, if they differ.
    """

    def __init__(
        self,
        spec: JobSpec,
        job: Job,
        markers: Consumer,
        admin: AdminClient,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._names = names
        self._spec = spec
        self._job = job
        self._markers = markers
        self._admin = admin
        self._formats = {
            topic: replace(kind, others=spec.record_layouts.get(topic, {}))
            for topic, kind in record_formats(spec.application, job).items()
        }
        self._purged: dict[tuple[str, int], int] = {}

    def markers(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        asked = [TopicPartition(*place) for place in places]
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                answers = self._markers.committed(asked, _SECONDS)
                break
            except KafkaException as error:
                # The client does not wait for a coordinator that is still loading, as after a broker's start.
                if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise failure_of(error.args[0], "can't read the marker group") from error
                time.sleep(0.1)
        # A partition whose marker can't be read must not count as a partition without a marker: a foreign checkpoint
        # would go unnoticed.
        for answer in answers:
            if answer.error is not None:
                raise failure_of(answer.error, f"can't read the marker of {answer.topic}-{answer.partition}")
        return {(a.topic, a.partition): a.metadata or "" for a in answers if a.offset >= 0}

    def read_tails(self, tails: list[Tail]) -> None:
        group = {"group.id": self._spec.restore_group, **_RESTORING}
        name = self._spec.application
        read_tails(name, tails, lambda: Consumer(self._spec.kafka.consumer(**group)), commits_progress=True)

    def former(self, number: int) -> list[Tail]:
        return [Tail(topic, ChangelogRows({}, topic), number, MemoryTable(), {}) for topic in self._spec.former]

    def ends(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return last_stable(self._admin, places)

    def inputs(self, place: tuple[int, int], lease: Lease, position: TaskPosition) -> TaskInput:
        return task_input(self._job, self._spec.application, place, lease, position, self._names, self._formats)

    def check_topics(self, lease: Lease) -> None:
        if lease.topic_ids:
            topic_ids = BrokerView(self._admin, self._markers, tuple(sorted(lease.start))).topic_ids()
            check_same(lease.topic_ids, topic_ids)

    def purge(self, ends: Mapping[tuple[str, int], int]) -> None:
        # Only offsets that have moved, so that an idle job does not repeat the same request with every snapshot.
        moved = {place: end for place, end in ends.items() if end > self._purged.get(place, 0)}
        if not moved:
            return
        try:
            futures = self._admin.delete_records([TopicPartition(*place, end) for place, end in moved.items()])
            for place, future in futures.items():
                future.result(10.0)
                self._purged[place.topic, place.partition] = moved[place.topic, place.partition]
        except (KafkaException, TimeoutError) as error:
            # A failure costs only disk space: a start reads from the position, and the next call repeats the request.
            log.warning("processed records of repartition topics can't be deleted yet: %s", error)
