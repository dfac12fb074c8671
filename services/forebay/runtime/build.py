"""Builds a state task in a worker from the job's spec."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from confluent_kafka import Consumer, Producer

from forebay.catalog import Service, find_service
from forebay.codec import Codec
from forebay.job import Job, load_job
from forebay.kafka.codecs import registry_codec
from forebay.partitioner import Partitioner
from forebay.processor.api import AnyProcessor
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine
from forebay.runtime.changelog import changelog_topic, internal_topic
from forebay.runtime.changelog_reader import TopicChangelog
from forebay.runtime.ports import Input
from forebay.runtime.reader import RangeReader
from forebay.runtime.spec import JobSpec, Tables
from forebay.runtime.stage_log import stage_log
from forebay.runtime.task import StateTask, TaskSettings
from forebay.runtime.transaction import Topics, TransactionalSink
from forebay.serde import local_codec
from forebay.stores.copies import copy_file, load_copy
from forebay.stores.disk import DiskTable
from forebay.stores.table import MemoryTable, Table
from forebay.wiring import task_codecs

log = logging.getLogger(__name__)

_MARKER_READERS: dict[str, Consumer] = {}
_OBSERVERS: dict[str, Consumer] = {}
"""By application."""


def build_first(spec: JobSpec, task: int, partitions: Sequence[tuple[str, int]]) -> StateTask:
    """Give the task that reads `partitions`, by (topic, partition), connected to broker and registry."""
    consumer = _consumer(spec)
    return _build(spec, 0, task, consumer, RangeReader(consumer), partitions)


def build_later(spec: JobSpec, stage: int, task: int, source: Input) -> StateTask:
    """Give the task of a later stage; it reads what `source` was handed."""
    return _build(spec, stage, task, _marker_reader(spec), source, [(internal_topic(spec.application, stage), task)])


def _build(
    spec: JobSpec, stage: int, task: int, consumer: Consumer, source: Input, partitions: Sequence[tuple[str, int]]
) -> StateTask:
    service = find_service(spec.service)
    job = load_job(service.job)
    processor = job.logic(stage)(job.settings(**spec.logic))
    table = _table(spec, stage, task)
    engine_settings = EngineSettings(
        service=service.name,
        emit=spec.emit,
        dedupe_retention_ms=spec.dedupe_retention_ms,
        max_future_ms=spec.max_future_ms,
        max_record_bytes=spec.max_record_bytes,
        cached_objects=spec.cached_objects,
        on_change=spec.on_change,
    )
    topics = stage_log(spec.application, stage, processor)
    engine = TaskEngine(processor, build_codecs(spec, service, job, stage, processor), table, engine_settings)
    name = spec.transactional_id(stage, task)
    identity = {"transactional.id": name, "transaction.timeout.ms": spec.transaction_timeout_ms}
    sink = TransactionalSink(
        consumer,
        _observer(spec),
        lambda: Producer(spec.kafka.producer(**identity)),
        Topics(service.errors.name, service.late.name),
        topics.router(task),
        partitions,
        transaction_seconds=spec.transaction_timeout_ms / 1000,
    )
    restoring = {"group.id": spec.restore_group}
    changelog = TopicChangelog(
        name, lambda: Consumer(spec.kafka.consumer(**restoring)), topics.rows(), task, telling=True
    )
    task_settings = TaskSettings(name, spec.code_version, stage, spec.max_state_bytes, spec.max_error_rate)
    partitioner = None if job.after(stage) is None else _partitioner(spec.tasks)
    return StateTask(engine, table, source, sink, changelog, task_settings, partitioner)


@cache
def _partitioner(tasks: int) -> Partitioner:
    return Partitioner(tasks)


def build_codecs(spec: JobSpec, service: Service, job: Job, stage: int, processor: AnyProcessor) -> Codecs:
    """Give the codecs of a stage: contracts of its topics and stores, ids as registered."""

    def topic(name: str, record: type[Any]) -> Codec[Any]:
        return registry_codec(spec.kafka, service.name, record, spec.schema_ids[name])

    def store(name: str, record: type[Any]) -> Codec[Any]:
        return topic(changelog_topic(spec.application, name), record)

    def handed(_: str, record: type[Any]) -> Codec[Any]:
        return local_codec(service.name, record)

    return task_codecs(job, job.topology[stage], processor, topic, store, handed)


def _marker_reader(spec: JobSpec) -> Consumer:
    """Give the worker's one consumer that reads markers only: later stages read no topic."""
    found = _MARKER_READERS.get(spec.application)
    if found is None:
        found = _MARKER_READERS[spec.application] = _consumer(spec)
    return found


def _observer(spec: JobSpec) -> Consumer:
    """Give the worker's one consumer that reads markers past transactions in flight."""
    found = _OBSERVERS.get(spec.application)
    if found is None:
        found = _OBSERVERS[spec.application] = _consumer(spec, **{"isolation.level": "read_uncommitted"})
    return found


def _consumer(spec: JobSpec, **overrides: str) -> Consumer:
    return Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group, **overrides}))


def _table(spec: JobSpec, stage: int, task: int) -> Table:
    name = f"{spec.application}-{stage}-{task}"
    table = DiskTable(spec.table_directory, name) if spec.tables is Tables.PERSISTENT else MemoryTable()
    if spec.standby_directory:
        file = copy_file(spec.standby_directory, spec.application, stage, task)
        if load_copy(file, table):
            log.info("%s: began with the warm copy %s: %d rows", name, file, len(table))
        else:
            log.info("%s: there is no warm copy %s", name, file)
    return table
