"""Builds a state task in a worker from the job's spec."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Consumer, Producer

from forebay.catalog import Service, find_service
from forebay.job import Job, load_job
from forebay.kafka.codecs import registry_codec
from forebay.processor.api import AnyProcessor
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine, declared_stores
from forebay.runtime.changelog import ChangelogRouter, changelog_topic, changelog_topics, internal_topic
from forebay.runtime.ports import Input
from forebay.runtime.reader import RangeReader
from forebay.runtime.spec import JobSpec, Tables
from forebay.runtime.task import StateTask, TaskSettings
from forebay.runtime.transaction import Topics, TransactionalSink
from forebay.serde import local_codec
from forebay.stores.disk import DiskTable
from forebay.stores.table import MemoryTable, Table


def build_first(spec: JobSpec, task: int, partitions: Sequence[tuple[str, int]]) -> StateTask:
    """Give the task that reads `partitions`, by (topic, partition), connected to broker and registry."""
    consumer = _consumer(spec)
    return _build(spec, 0, task, consumer, RangeReader(consumer), partitions)


def build_later(spec: JobSpec, stage: int, task: int, source: Input) -> StateTask:
    """Give the task of a later stage; it reads what `source` was handed."""
    return _build(spec, stage, task, _consumer(spec), source, [(internal_topic(spec.application, stage), task)])


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
    formats = {store.name: store.row_value for _, store in declared_stores(processor)}
    engine = TaskEngine(processor, build_codecs(spec, service, job, stage, processor), table, engine_settings)
    router = ChangelogRouter(
        changelog_topics(spec.application, formats), internal_topic(spec.application, stage), task, formats
    )
    name = spec.transactional_id(stage, task)
    identity = {"transactional.id": name, "transaction.timeout.ms": spec.transaction_timeout_ms}
    sink = TransactionalSink(
        consumer,
        lambda: Producer(spec.kafka.producer(**identity)),
        Topics(service.errors.name, service.late.name),
        router,
        partitions,
    )
    return StateTask(engine, table, source, sink, TaskSettings(name, spec.code_version, stage, spec.max_state_bytes))


def build_codecs(spec: JobSpec, service: Service, job: Job, stage: int, processor: AnyProcessor) -> Codecs:
    """Give the codecs of a stage: contracts of its topics and stores, ids as registered."""
    if stage:
        here = job.then[stage - 1]
        inputs = {here.name: local_codec(service.name, here.record)}
    else:
        inputs = {
            topic.name: registry_codec(spec.kafka, service.name, job.inputs[topic.name], spec.schema_ids[topic.name])
            for topic in service.inputs
        }
    following = job.after(stage)
    return Codecs(
        inputs=inputs,
        stores={
            store.name: registry_codec(
                spec.kafka, service.name, store.value, spec.schema_ids[changelog_topic(spec.application, store.name)]
            )
            for _, store in declared_stores(processor)
        },
        outputs={
            topic.name: registry_codec(spec.kafka, service.name, job.outputs[topic.name], spec.schema_ids[topic.name])
            for topic in service.outputs
        },
        onward=None if following is None else (following.name, local_codec(service.name, following.record)),
    )


def _consumer(spec: JobSpec) -> Consumer:
    return Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group}))


def _table(spec: JobSpec, stage: int, task: int) -> Table:
    if spec.tables is Tables.PERSISTENT:
        return DiskTable(spec.table_directory, f"{spec.application}-{stage}-{task}")
    return MemoryTable()
