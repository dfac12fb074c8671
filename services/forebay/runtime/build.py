"""Builds a state task in a worker from the job's spec."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Consumer, Producer

from forebay.catalog import Service, find_service
from forebay.kafka.codecs import registry_codec
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine, declared_stores
from forebay.runtime.changelog import ChangelogRouter, changelog_topics, internal_topic
from forebay.runtime.job import load_job
from forebay.runtime.reader import RangeReader
from forebay.runtime.spec import JobSpec, Tables
from forebay.runtime.task import StateTask, TaskSettings
from forebay.runtime.transaction import Topics, TransactionalSink
from forebay.stores.disk import DiskTable
from forebay.stores.table import MemoryTable, Table


def build_task(spec: JobSpec, task: int, partitions: Sequence[tuple[str, int]]) -> StateTask:
    """Give the state task numbered `task`, connected to broker and registry.

    Args:
        partitions: its input partitions, by (topic, partition).
    """
    service = find_service(spec.service)
    job = load_job(service.job)
    processor = job.processor(job.settings(**spec.logic))
    table = _table(spec, task)
    engine_settings = EngineSettings(
        service=service.name,
        emit=spec.emit,
        dedupe_retention_ms=spec.dedupe_retention_ms,
        max_future_ms=spec.max_future_ms,
        max_record_bytes=spec.max_record_bytes,
        cached_objects=spec.cached_objects,
    )
    engine = TaskEngine(processor, build_codecs(spec, service), table, engine_settings)
    declared = [store for _, store in declared_stores(processor)]
    formats = {store.name: store.row_value for store in declared}
    stores = changelog_topics(spec.application, formats)
    router = ChangelogRouter(stores, internal_topic(spec.application, 0), task, formats)
    consumer = Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group}))
    identity = {
        "transactional.id": spec.transactional_id(task),
        "transaction.timeout.ms": spec.transaction_timeout_ms,
    }
    sink = TransactionalSink(
        consumer,
        lambda: Producer(spec.kafka.producer(**identity)),
        Topics(service.output.name, service.errors.name, service.late.name),
        router,
        partitions,
    )
    settings = TaskSettings(spec.transactional_id(task), spec.code_version, spec.max_state_bytes)
    return StateTask(engine, table, RangeReader(consumer), sink, settings)


def build_codecs(spec: JobSpec, service: Service) -> Codecs:
    """Give the codecs of a service: contracts of its topics and stores, ids as registered."""
    job = load_job(service.job)
    stores = changelog_topics(spec.application, service.stores)
    types = {declared.name: declared.value for _, declared in declared_stores(job.processor(job.settings()))}
    return Codecs(
        inputs={
            topic.name: registry_codec(spec.kafka, service.name, job.inputs[topic.name], spec.schema_ids[topic.name])
            for topic in service.inputs
        },
        stores={
            name: registry_codec(spec.kafka, service.name, types[name], spec.schema_ids[topic])
            for name, topic in stores.items()
        },
        output=registry_codec(spec.kafka, service.name, job.output, spec.schema_ids[service.output.name]),
    )


def _table(spec: JobSpec, task: int) -> Table:
    if spec.tables is Tables.PERSISTENT:
        return DiskTable(spec.table_directory, f"{spec.application}-0-{task}")
    return MemoryTable()
