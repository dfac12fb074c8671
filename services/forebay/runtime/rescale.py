"""Gives a drained job's state another number of tasks: its changelogs are written anew, by way of a staging topic.

Until the staging topic's one transaction is committed nothing has changed; from then on the staging topic is what
counts, and publishing it can be repeated until it is through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from forebay.catalog import Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.groups import delete_groups
from forebay.kafka.identities import marker_group, rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.tail import Beginning, Tail
from forebay.kafka.topics import TopicSpec, spec_of
from forebay.runtime.changelog_reader import TopicChangelog
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.positions import undelivered
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.stage_log import StageLog, stage_logs
from forebay.stores.spread import Spreader
from forebay.stores.table import MemoryTable

_SECONDS = 60.0
_TRANSACTION_MS = 900_000
_QUEUED = 100_000
_STAGING: Mapping[str, str] = {"retention.ms": "-1", "max.message.bytes": "4194304"}
_TOPIC = "topic"

Record = tuple[str, int, bytes, bytes | None, int]
"""Topic, partition, key, value, timestamp in ms."""


class Rescale:
    """One job's way from one number of tasks to another. The job must not run.

    Args:
        logic: settings of the service's logic.
        before: tasks so far, one changelog partition each.
        after: tasks from now on.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        service: Service,
        application: str,
        logic: Mapping[str, Any],
        before: int,
        after: int,
    ) -> None:
        self._kafka = kafka
        self._service = service
        self._application = application
        self._before = before
        self._after = after
        self._staging = rescale_topic(application)
        self._logs = stage_logs(service, application, logic)
        self._repartitions = {topic.name for topic in service.repartitions(application, before)}

    def forget(self) -> None:
        """Delete a staging topic that does not count."""
        TopicAdmin(self._kafka).delete([self._staging])

    def stage(self) -> int:
        """Write the state as the new tasks will have it to the staging topic, in one transaction; give its records.

        Raises:
            NotSpreadable: rows can't be given to other tasks.
            StateConflict: the job was not drained, or never ran. Unavailable.
        """
        self.forget()
        records = list(self._records())
        TopicAdmin(self._kafka).create([TopicSpec(self._staging, self._after, dict(_STAGING))])
        self._send(
            (self._staging, partition, key, value, at, topic.encode()) for topic, partition, key, value, at in records
        )
        return len(records)

    def publish(self) -> int:
        """Make the changelogs anew from the staging topic, forget the markers, and delete it; give its records."""
        admin = TopicAdmin(self._kafka)
        changelogs = self._service.own_topics(self._application, self._after)
        records = list(staged(self._kafka, self._staging))
        admin.delete(topic.name for topic in changelogs)
        admin.create(spec_of(topic) for topic in changelogs)
        self._send((topic, partition, key, value, at, None) for topic, partition, key, value, at in records)
        delete_groups(self._kafka, (marker_group(self._application),))
        admin.delete([self._staging])
        return len(records)

    def _records(self) -> Iterator[Record]:
        stages = [self._read(stage, log) for stage, log in enumerate(self._logs)]
        positions = {
            (stage, task): position
            for stage, (_, found) in enumerate(stages)
            for task, position in enumerate(found)
            if position is not None
        }
        if not positions:
            raise StateConflict(f"{self._application} never committed anything: run it with the tasks wanted")
        if undelivered(positions):
            raise StateConflict(f"{self._application} was not drained: run it with --trigger available-now first")
        for stage, (tables, found) in enumerate(stages):
            yield from self._stage_records(stage, tables, found)

    def _read(self, stage: int, log: StageLog) -> tuple[list[MemoryTable], list[TaskPosition | None]]:
        tables = [MemoryTable() for _ in range(self._before)]
        group, rows = {"group.id": marker_group(self._application)}, log.rows()
        positions = [
            TopicChangelog(
                f"{self._application}-{stage}-{task}", lambda: Consumer(self._kafka.consumer(**group)), rows, task
            ).restore(table)
            for task, table in enumerate(tables)
        ]
        return tables, positions

    def _stage_records(
        self, stage: int, tables: list[MemoryTable], positions: list[TaskPosition | None]
    ) -> Iterator[Record]:
        log = self._logs[stage]
        internal = log.internal
        spreader = Spreader(log.stores, log.processor.record_key, self._before, self._after)
        for task, rows in enumerate(spreader.spread([table.scan(b"") for table in tables])):
            known = [position for a in spreader.ancestors(task) if (position := positions[a]) is not None]
            if not known:
                continue
            position = merged(known, task, self._after, self._repartitions)
            time = max(position.stream_time, 0)
            for topic, key, value, at in log.router(task).route(sorted(rows.items()), time):
                yield topic, task, key, value, at
            yield internal, task, POSITION, position.to_json(), time

    def _send(self, records: Iterator[tuple[str, int, bytes, bytes | None, int, bytes | None]]) -> None:
        identity = {"transactional.id": self._staging, "transaction.timeout.ms": _TRANSACTION_MS}
        producer = Producer(self._kafka.producer(**identity))
        try:
            producer.init_transactions(_SECONDS)
            producer.begin_transaction()
            for topic, partition, key, value, at, meant_for in records:
                headers: dict[str, str | bytes | None] = {} if meant_for is None else {_TOPIC: meant_for}
                producer.produce(topic, value, key, partition, timestamp=at, headers=headers)
                while len(producer) > _QUEUED:
                    producer.poll(0.05)
            producer.commit_transaction(_TRANSACTION_MS / 1000)
        except KafkaException as error:
            raise Unavailable(f"{self._application}: the rescaled state was not written: {error}") from error


def merged(positions: list[TaskPosition], task: int, tasks: int, repartitions: AbstractSet[str]) -> TaskPosition:
    """Return the position of a new task whose keys come from tasks at `positions`.

    Args:
        repartitions: topics that are drained and made anew, so that nobody stands anywhere in them.
    """
    ends = {
        (topic, partition): end
        for position in positions
        for topic, partition, end in position.ends
        if partition % tasks == task and topic not in repartitions
    }
    return replace(
        positions[0],
        n=max(position.n for position in positions),
        stream_time=max(position.stream_time for position in positions),
        closing_time=max(position.closing_time for position in positions),
        ends=tuple((*place, end) for place, end in sorted(ends.items())),
        senders=(),
        handed_to=0,
    )


def staged(kafka: KafkaSettings, topic: str) -> Iterator[Record]:
    """Give what a staging topic holds; nothing where there is none, or its transaction was not committed.

    Raises:
        KafkaUnavailable, KafkaRefused: it can't be read.
    """
    if not TopicAdmin(kafka).partitions([topic]):
        return
    with Tail(kafka, topic) as tail:
        for message in tail.read(Beginning(), follow=False):
            name = dict(message.headers() or [])[_TOPIC]
            assert isinstance(name, bytes)
            partition, at = message.partition() or 0, message.timestamp()[1]
            yield name.decode(), partition, message.key() or b"", message.value(), at
