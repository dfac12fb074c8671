"""The Kafka source as a PySpark Python data source: it hands out offset ranges, records never pass through Spark."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from forebay.catalog import find_service
from forebay.kafka.errors import NotAuthorized
from forebay.runtime.broker import BrokerView, check_available
from forebay.runtime.buckets import bucket_ids
from forebay.runtime.errors import StateConflict, TopicChanged, Unavailable
from forebay.runtime.logs import configure_logging
from forebay.runtime.offsets import SENTINEL, SourceOffset, task_batches
from forebay.runtime.planner import Ends, Limits, Partition, Probe, average_bytes, ends_before, next_offset
from forebay.runtime.positions import committed_positions
from forebay.runtime.restore import closing_times, restored_ends
from forebay.runtime.spec import JobSpec

log = logging.getLogger(__name__)

_SAMPLE_SECONDS = 5.0

SCHEMA = "bucket int, batch string"

Row = tuple[int, str]


class RangePlanner:
    """Plans batches for a job: the state both kinds of reader share. Lives in Spark's source process."""

    def __init__(self, spec: JobSpec) -> None:
        self.spec = spec
        service = find_service(spec.service)
        topics = tuple(sorted(topic.name for topic in service.inputs))
        own = tuple(topic.name for topic in service.topics(spec.application) if topic.name not in topics)
        changelogs = {topic.name for topic in service.changelogs(spec.application, spec.tasks)}
        probe = {"group.id": spec.probe_group, "fetch.message.max.bytes": 65_536}
        admin, consumer = AdminClient(spec.kafka.admin()), Consumer(spec.kafka.consumer(**probe))
        self.broker = BrokerView(admin, consumer, topics, own=own)
        self._remembered = changelogs.union(topics)
        self._lag = Consumer(spec.kafka.consumer(**{"group.id": spec.lag_group}))
        self._frozen: tuple[Ends, int] | None = None
        self._sampled = (float("-inf"), 0.0)
        self._checked = False
        self._unreachable_since: float | None = None

    def freeze(self) -> None:
        """Fix ends and clock for good: what comes later is for the next run."""
        self._frozen = (self.broker.latest(), _now())

    def plan(self, start: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Give the end of the batch that begins at `start`; `start` itself when there is nothing to do."""
        begin = SourceOffset.from_json(start)
        if begin is None:
            return self._first().to_json()
        if self.spec.restore_only:
            return start
        try:
            if not self._checked:
                self._check(begin)
            latest, now = self._frozen or (self.broker.latest(), _now())
            if ends_before(latest, begin.ends):
                self._check(begin)
                raise Unavailable(f"the topics end at {latest}, before {begin.ends}, which was read already")
            probe = Probe(self.broker.timestamps, self.broker.offsets_for, self._average_bytes)
            end = next_offset(begin, latest, now, limits, probe)
            if end is begin and self.spec.align:
                end = self._aligned(begin)
            if end.ends != begin.ends:
                end = replace(end, topic_ids=self.check_topics(begin))
        except Unavailable as error:
            if self._frozen is not None:
                raise
            self._outage(error)
            return start
        self._outage(None)
        return start if end is begin else end.to_json()

    def _average_bytes(self, at: Mapping[Partition, int], backlog: Mapping[Partition, int]) -> float:
        """Sample the records waiting, at most every few seconds."""
        now = time.monotonic()
        if now > self._sampled[0] + _SAMPLE_SECONDS:
            self._sampled = (now, average_bytes(at, backlog, self.broker.average_bytes))
        return self._sampled[1]

    def _aligned(self, begin: SourceOffset) -> SourceOffset:
        """Give one more batch while tasks of a stage differ in how far their results are final."""
        spec = self.spec
        times = closing_times(committed_positions(spec.kafka, find_service(spec.service), spec.application, spec.tasks))
        latest = max(times.values(), default=-1)
        if all(time == latest for time in times.values()):
            return begin
        return replace(begin, batch=begin.batch + 1, restore=False, close_until=latest)

    def latest(self) -> dict[str, Any] | None:
        """Give the topics' last stable offsets, or None when the broker can't be asked."""
        try:
            return {"ends": {topic: list(ends) for topic, ends in sorted(self.broker.latest().items())}}
        except Unavailable:
            return None

    def report_lag(self, end: dict[str, Any]) -> None:
        """Commit where the job stands to its lag group, for the usual tools. Never read back."""
        offset = SourceOffset.from_json(end)
        if offset is None:
            return
        positions = [TopicPartition(t, p, at) for t, ends in offset.ends.items() for p, at in enumerate(ends)]
        try:
            self._lag.commit(offsets=positions, asynchronous=True)
        except KafkaException as error:
            log.warning("lag was not reported to group %s: %s", self.spec.lag_group, error)

    def close(self) -> None:
        """Leave the broker."""
        self._lag.close()

    def _first(self) -> SourceOffset:
        latest = self.broker.latest()
        ends = self._start_positions(latest)
        tasks, point = self.spec.tasks, self.spec.restore
        if point is not None:
            ends = restored_ends(point, ends, self.broker.earliest(), latest, tasks)
        return SourceOffset(
            job=uuid.uuid4().hex,
            batch=0 if point is None else point.batch + 1,
            clock=_now(),
            tasks=tasks,
            caught_up=ends == latest,
            idle_ms=(0,) * tasks,
            topic_ids=self._topic_ids(),
            ends=ends,
            state_partitions=self.spec.state_partitions,
            restore=point is not None,
        )

    def _start_positions(self, latest: Ends) -> Ends:
        start = self.spec.start
        if start.position == "latest":
            return latest
        return self.broker.earliest() if start.position == "earliest" else self.broker.from_time(start.timestamp_ms)

    def check_topics(self, offset: SourceOffset) -> dict[str, str]:
        """Give the ids of inputs and changelogs, the same as `offset` knows them; a changelog it does not know is new.

        Raises:
            TopicChanged: one was made again, or any of the job's topics is gone. Unavailable.
        """
        ids = self._topic_ids()
        for topic, found in ids.items():
            known = offset.topic_ids.get(topic, found)
            if known != found:
                raise TopicChanged(
                    f"{topic}: the checkpoint was made with topic id {known}, the broker has {found}: the topic was "
                    "deleted and made again. Start over with `forebay reset`, or restore the old topic"
                )
        return ids

    def _topic_ids(self) -> dict[str, str]:
        return {topic: found for topic, found in self.broker.topic_ids().items() if topic in self._remembered}

    def _check(self, begin: SourceOffset) -> None:
        if begin.tasks != self.spec.tasks:
            raise StateConflict(
                f"the checkpoint has {begin.tasks} tasks, the changelogs {self.spec.tasks}: it is from before the "
                "number changed. Move it away, and `forebay restore` makes one from the changelogs"
            )
        self.check_topics(begin)
        check_available(begin.ends, self.broker.earliest())
        self._checked = True

    def _outage(self, error: Unavailable | None) -> None:
        if error is not None:
            if self._unreachable_since is None:
                self._unreachable_since = time.monotonic()
                what = "the broker refuses" if isinstance(error, NotAuthorized) else "the broker can't be reached"
                log.warning("%s: %s: trying again until it answers", what, error)
        elif self._unreachable_since is not None:
            log.warning("the broker answers again after %.1f s", time.monotonic() - self._unreachable_since)
            self._unreachable_since = None


def rows(start: dict[str, Any], end: dict[str, Any]) -> list[Row]:
    """Give one row per task: its bucket and its batch. Pure: replays give the same rows anywhere."""
    finish = SourceOffset.from_json(end)
    if finish is None or start == end:
        return []
    buckets = bucket_ids(finish.tasks, finish.state_partitions)
    return [(buckets[b.task], b.to_json()) for b in task_batches(SourceOffset.from_json(start), finish)]


class _Planning:
    """Opens the planner where it is first needed: readers are pickled before that, and connections can't be."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._opened: RangePlanner | None = None

    @property
    def _planner(self) -> RangePlanner:
        if self._opened is None:
            self._opened = RangePlanner(self._spec)
        return self._opened

    def initialOffset(self) -> dict[str, Any]:
        return dict(SENTINEL)

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.freeze()

    def replayed(self, start: dict[str, Any], end: dict[str, Any]) -> list[Row]:
        """Give the rows of a batch that was planned before: only of the topics it was planned for."""
        offset = SourceOffset.from_json(end)
        if offset is not None and start != end:
            self._planner.check_topics(offset)
        return rows(start, end)

    def commit(self, end: dict[str, Any]) -> None:
        self._planner.report_lag(end)

    def __getstate__(self) -> dict[str, Any]:
        return {"_spec": self._spec, "_opened": None}


class RangeReaderOnDriver(_Planning, SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """The default reader: rows are made where they are planned and need no Python task of their own."""

    def read(self, start: dict[str, Any]) -> tuple[Iterator[Row], dict[str, Any]]:
        end = self._planner.plan(start, self._spec.limits)
        return iter(rows(start, end)), end

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[Row]:
        return iter(self.replayed(start, end))


class PartitionedRangeReader(_Planning, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader that tells Spark the latest offset, at the price of a Python task per batch."""

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._spec.limits.max_records)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        unlimited = replace(self._spec.limits, max_records=1 << 62, max_bytes=0)
        return self._planner.plan(start, unlimited if isinstance(limit, ReadAllAvailable) else self._spec.limits)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._planner.latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition(self.replayed(start, end))]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        yield from partition.value


def data_source(spec: JobSpec, reader: str) -> type[DataSource]:
    """Give the data source of a job, named `forebay`; it carries the job's spec, so no option holds a secret."""

    class RangeSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "forebay"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            if reader == "driver":
                raise PySparkNotImplementedError(
                    errorClass="NOT_IMPLEMENTED", messageParameters={"feature": "streamReader"}
                )
            configure_logging(spec.log_format)
            return PartitionedRangeReader(spec)

        def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
            configure_logging(spec.log_format)
            return RangeReaderOnDriver(spec)

    return RangeSource


def _now() -> int:
    return time.time_ns() // 1_000_000
