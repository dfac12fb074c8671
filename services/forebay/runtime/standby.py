"""A standby: follows a job's changelogs and keeps warm copies of its tasks' tables, each as of one committed batch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.catalog import Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicMissing
from forebay.kafka.identities import standby_group
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog_reader import ChangelogRows
from forebay.runtime.committed import POSITION, CommittedPosition
from forebay.runtime.errors import Unavailable
from forebay.runtime.stage_log import stage_logs
from forebay.stores.copies import CopyTable, copy_file
from forebay.stores.table import Change

_FETCH = 10_000
_SECONDS = 30.0
_QUIET_ROUNDS = 10

Place = tuple[str, int]
Offsets = Mapping[str, int]
"""Ends by topic, of one task's partition."""


class TaskCopy:
    """One task's copy: takes its changelogs' records, and applies them up to where whole batches end.

    It stays one batch behind what is committed: the job's state may not contain the latest yet, and a copy that is
    ahead of the state is of no use to it. Once nothing has come for a while, the state has the latest too.

    Args:
        rows: of the task's stage.
    """

    def __init__(self, table: CopyTable, rows: ChangelogRows) -> None:
        self.table = table
        self.internal = rows.internal
        self.topics = rows.topics
        self._rows = rows
        self._waiting: dict[str, deque[tuple[int, Change]]] = {topic: deque() for topic in rows.topics}
        self._positions: deque[tuple[int, CommittedPosition]] = deque()
        self._ended: tuple[Offsets, CommittedPosition] | None = None
        self._quiet = 0

    def take(self, topic: str, offset: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Take a record; each topic's in order of offset. `timestamp` in ms."""
        if topic != self.internal or key != POSITION:
            self._waiting[topic].append((offset, self._rows.row(topic, key, value, timestamp)))
        elif value is not None:
            self._positions.append((offset, CommittedPosition.from_json(value)))

    def batches_end(self, ends: Offsets) -> int:
        """Learn that whole batches end at `ends`, up to which everything was taken: those before the last are applied.

        The last one is applied after ten calls that brought no other.

        Returns:
            The number of the batch the copy stands at now; -1 if it did not change.
        """
        found = None
        while self._positions and self._positions[0][0] < ends[self.internal]:
            found = self._positions.popleft()[1]
        self._quiet = self._quiet + 1 if found is None else 0
        if found is None and self._quiet < _QUIET_ROUNDS:
            return -1
        ready, self._ended = self._ended, None if found is None else (ends, found)
        return -1 if ready is None else self._apply(*ready)

    def _apply(self, until: Offsets, position: CommittedPosition) -> int:
        changes: dict[bytes, bytes | None] = {}
        for topic, waiting in self._waiting.items():
            while waiting and waiting[0][0] < until[topic]:
                key, value = waiting.popleft()[1]
                changes.pop(key, None)
                changes[key] = value
        self.table.apply(changes.items(), bytes.fromhex(position.marker.tag))
        return position.marker.batch


class Standby:
    """Follows the changelogs of tasks until it is stopped.

    Args:
        consumer: read_committed, with partition end events; assigned here.
        copies: by task number, of every stage.
    """

    def __init__(self, consumer: Consumer, admin: AdminClient, copies: Iterable[tuple[int, TaskCopy]]) -> None:
        self._consumer = consumer
        self._admin = admin
        self._copies = list(copies)
        self._of_place = {(topic, task): copy for task, copy in self._copies for topic in copy.topics}
        self._internal = [(copy.internal, task) for task, copy in self._copies]
        self._read: dict[Place, int] = {}

    def follow(self, stop: threading.Event, seconds: float, told: Callable[[int, int], None]) -> None:
        """Bring the copies up to date every `seconds`. Calls `told` with the newest batch applied and the rows held.

        Raises:
            Unavailable: the broker can't be reached.
        """
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in self._of_place])
        while not stop.is_set():
            self.catch_up(stop, told)
            stop.wait(seconds)

    def catch_up(self, stop: threading.Event, told: Callable[[int, int], None]) -> None:
        """Read what there is, and apply it as far as batches are whole.

        A task's batches end at the last stable offsets, unless a transaction was being committed just then: each
        writes to the internal changelog before its commit, so one that is seen nowhere there is seen nowhere.
        """
        before = self._ends(self._internal, IsolationLevel.READ_COMMITTED)
        ends = self._ends(self._of_place, IsolationLevel.READ_COMMITTED)
        after = self._ends(self._internal, IsolationLevel.READ_UNCOMMITTED)
        self._read_to(ends, stop)
        if stop.is_set():
            return
        batches = [
            copy.batches_end({topic: ends[topic, task] for topic in copy.topics})
            for task, copy in self._copies
            if before[copy.internal, task] == after[copy.internal, task]
        ]
        if max(batches, default=-1) >= 0:
            told(max(batches), sum(len(copy.table) for _, copy in self._copies))

    def _ends(self, places: Iterable[Place], isolation: IsolationLevel) -> dict[Place, int]:
        asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
        try:
            futures = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=_SECONDS)
            return {(place.topic, place.partition): future.result(_SECONDS).offset for place, future in futures.items()}
        except (KafkaException, TimeoutError) as error:
            raise Unavailable(f"can't ask for the changelogs' ends: {error}") from error

    def _read_to(self, ends: Mapping[Place, int], stop: threading.Event) -> None:
        while not stop.is_set() and any(self._read.get(place, 0) < end for place, end in ends.items()):
            for message in self._consumer.consume(_FETCH, 0.2):
                error, topic, task, offset = message.error(), message.topic(), message.partition(), message.offset()
                if error is not None and (error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET):
                    raise Unavailable(f"{topic}-{task}: {error}")
                if topic is None or task is None or offset is None:
                    continue
                if error is None:
                    self._read[topic, task] = offset + 1
                    key, value, timestamp = message.key() or b"", message.value(), message.timestamp()[1]
                    self._of_place[topic, task].take(topic, offset, key, value, timestamp)
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._read[topic, task] = offset


def standby_of(
    kafka: KafkaSettings, service: Service, application: str, logic: Mapping[str, Any], directory: str
) -> Standby:
    """Give the standby of a job, its copies in `directory`. Raises TopicMissing: there are no changelogs."""
    logs = stage_logs(service, application, logic)
    internal = logs[0].internal
    tasks = TopicAdmin(kafka).partitions([internal]).get(internal)
    if tasks is None:
        raise TopicMissing(f"there is no topic {internal}: `forebay topics create {service.name}` makes it")
    copies = [
        (task, TaskCopy(open_copy(copy_file(directory, application, stage, task)), log.rows()))
        for stage, log in enumerate(logs)
        for task in range(tasks)
    ]
    consumer = Consumer(kafka.consumer(**{"group.id": standby_group(application)}))
    return Standby(consumer, AdminClient(kafka.admin()), copies)


def open_copy(file: Path) -> CopyTable:
    """Give an empty copy in `file`, whatever was there."""
    for leftover in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        leftover.unlink(missing_ok=True)
    return CopyTable(file)
