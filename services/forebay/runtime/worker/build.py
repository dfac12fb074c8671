"""Builds a task group in a worker from the job's spec."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from forebay.catalog import Service
from forebay.codec import Codec
from forebay.job import Job, SubTopology, load_job
from forebay.kafka.codecs import registry_codec
from forebay.kafka.registry import shared_registry
from forebay.kafka.topic_limits import batch_limit
from forebay.limits.tasks import task_limits
from forebay.partitioner import Partitioner
from forebay.processor.api import AnyProcessor
from forebay.processor.bound_stores import declared_stores
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.broker.tombstones import kept_seconds
from forebay.runtime.changelog.stateformat import TaskSnapshot
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.changelog.topics import changelog_topic
from forebay.runtime.process.memory import memory_bytes, output_bytes, state_bytes, table_memory_bytes
from forebay.runtime.protocol.gaps import AcceptedGaps
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spec import JobSpec, Tables
from forebay.runtime.task.announce import Announcer, idle_interval
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.coverage import Retention
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.ports import Reader
from forebay.runtime.task.reads import repartition_topics
from forebay.runtime.task.record_formats import digests_of
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.task.snapshot import GroupStorage, Place, SnapshotWriter
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.worker.broker_clock import broker_clock
from forebay.runtime.worker.broker_requests import GroupSurroundings
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.retries import RetryWatch
from forebay.runtime.worker.transaction import GroupProducer
from forebay.serde import local_codec
from forebay.serde.subjects import connect
from forebay.service.renaming import actual_names
from forebay.service.wiring import task_codecs
from forebay.stores.binding import Store
from forebay.stores.disk import DiskTable
from forebay.stores.materialized import unlogged_names
from forebay.stores.memory import MemoryTable
from forebay.stores.split import SplitTable
from forebay.stores.standby_tables import copy_file, load_copy
from forebay.stores.table import Table

log = logging.getLogger(__name__)


def places_of(job: Job, lease: Lease) -> list[Place]:
    """Return the sub-topology and number of each of a group's tasks, in order."""
    return [(sub_topology, number) for sub_topology in range(len(job.topology)) for number in lease.numbers]


def build_group(
    spec: JobSpec, lease: Lease, storage: GroupStorage, reading: Callable[[Reader], Reader] = lambda reader: reader
) -> GroupRunner:
    """Return the runner of a lease's group, with tables from the snapshots and connections to broker and registry.

    Args:
        reading: returns the group's reader for a reader of the broker.
    """
    connect(shared_registry(spec.kafka.registry()))
    service = spec.entry
    job = load_job(service.job)
    tasks, writers, snapshots = [], {}, []
    for place in places_of(job, lease):
        task = _task(spec, service, job, place, lease)
        writer = writers[place] = SnapshotWriter(task)
        # Before the group is fenced, because loading may take minutes, in which the present owner continues to commit.
        snapshots.append(writer.load(storage))
        tasks.append(task)
    return _runner(spec, service, job, lease, tasks, writers, snapshots, SnapshotKeeper(storage), reading)


def _runner(
    spec: JobSpec,
    service: Service,
    job: Job,
    lease: Lease,
    tasks: list[StateTask],
    writers: dict[Place, SnapshotWriter],
    snapshots: Sequence[TaskSnapshot | None],
    keeper: SnapshotKeeper,
    reading: Callable[[Reader], Reader],
) -> GroupRunner:
    name = spec.transactional_id(lease.group)
    identity = {
        "transactional.id": name,
        # It also bounds how long a killed worker's open transaction hides later records from consumers.
        "transaction.timeout.ms": spec.transaction_timeout_ms,
        **batch_limit(spec.kafka, spec.topic_limits),
    }
    admin = AdminClient(spec.kafka.admin())
    # read_uncommitted: with read_committed, the client asks for stable offsets, and the broker does not return any
    # while the previous owner's transaction is open. They are read before that owner is fenced.
    markers = Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group, "isolation.level": "read_uncommitted"}))
    retries = RetryWatch(partitions=sum(len(task.changelog_rows.topics) for task in tasks))
    producer = GroupProducer(
        markers,
        lambda: Producer(retries.configure(spec.kafka.producer(**identity))),
        Destinations(
            service.errors.name,
            service.late.name,
            repartition_topics(spec.application, job),
            Partitioner(lease.tasks),
            actual_names(service.outputs),
            digests_of(spec.application, job),
        ),
        transaction_seconds=spec.transaction_timeout_ms / 1000,
        retries=retries,
    )
    changelogs = {topic for task in tasks for topic in task.changelog_rows.topics}
    pacing = Pacing(spec.limits)
    retention = Retention(spec.tombstone_ms, lambda: int(kept_seconds(spec.kafka, changelogs) * 1_000))
    group = TaskGroup(
        tasks,
        writers,
        reading(
            GroupReader(
                Consumer(spec.kafka.consumer(**{"group.id": spec.marker_group, **_READING})),
                admin,
                AcceptedGaps.parse(spec.accept_gaps),
            )
        ),
        producer,
        GroupSurroundings(spec, job, markers, admin, actual_names(service.inputs)),
        pacing,
        GroupSettings(name, retention, spec.limits.idle),
        broker_clock(spec).now_ms,
    )
    group.coverage.begin_with(snapshots)
    return GroupRunner(group, pacing, keeper, progress=group.progress)


_READING = {"fetch.wait.max.ms": 100, "queued.max.messages.kbytes": 65_536, "queued.min.messages": 10_000}
"""How a group's consumer reads ahead.

librdkafka counts only the bytes of records. Its default of 100,000 records per partition takes 30 MB or more in
addition.
"""


def _task(spec: JobSpec, service: Service, job: Job, place: Place, lease: Lease) -> StateTask:
    sub_topology, number = place
    topology = job.topology[sub_topology]
    processor = topology.processor(job.settings(**spec.logic))
    tasks = len(lease.numbers) * len(job.topology)
    table = _table(spec, sub_topology, number, [store for _, store in declared_stores(processor)], tasks)
    engine = TaskEngine(
        processor,
        build_codecs(spec, service, job, topology, processor),
        table,
        EngineSettings(
            service=service.name,
            emit=spec.emit,
            dedupe_retention_ms=spec.dedupe_retention_ms,
            max_future_ms=spec.max_future_ms,
            max_record_bytes=spec.max_record_bytes,
            max_output_bytes=spec.max_output_bytes or output_bytes(memory_bytes()),
            limits=task_limits(service, spec.application, sub_topology, spec.topic_limits),
            # A worker keeps no more decoded rows than four tasks would, regardless of its number of tasks.
            cached_objects=min(spec.cached_objects, 4 * spec.cached_objects // tasks),
            on_change=spec.on_change,
            reported_elsewhere=job.reported_elsewhere(sub_topology, number),
        ),
    )
    logged = sub_topology_log(spec.application, sub_topology, processor)
    settings = TaskSettings(
        f"{spec.application}-{sub_topology}-{number}",
        sub_topology,
        number,
        tuple(sorted(topology.sends)),
        spec.code_version,
        lease.groups,
        spec.max_state_bytes or state_bytes(memory_bytes(), spec.tables is Tables.PERSISTENT),
        spec.max_error_rate,
        topology.identity,
    )
    return StateTask(
        engine, table, logged.router(number), logged.rows(), Announcer(idle_interval(lease.tasks)), settings
    )


def build_codecs(spec: JobSpec, service: Service, job: Job, topology: SubTopology, processor: AnyProcessor) -> Codecs:
    """Return the codecs of a sub-topology, with the registered ids of its topics' and stores' contracts."""
    topics = repartition_topics(spec.application, job)

    actual = actual_names((*service.inputs, *service.outputs))

    def topic(name: str, record: type[Any]) -> Codec[Any]:
        known = actual.get(name, name)
        others = known if name in topology.inputs else ""
        return registry_codec(spec.kafka, service.name, record, spec.schema_ids[known], others)

    without = unlogged_names(declared for _, declared in declared_stores(processor))

    def store(name: str, record: type[Any]) -> Codec[Any]:
        if name.encode() in without:
            return local_codec(service.name, record)
        return topic(changelog_topic(spec.application, name), record)

    def repartition(name: str, record: type[Any]) -> Codec[Any]:
        return topic(topics[name], record)

    names = {topics[name]: name for name in topology.repartitions}
    names |= {topic: name for name, topic in actual_names(service.inputs).items()}
    return task_codecs(job, topology, processor, topic, store, repartition, names)


def _table(spec: JobSpec, sub_topology: int, number: int, stores: Sequence[Store[Any]], tasks: int) -> Table:
    memory = (spec.table_memory_bytes or table_memory_bytes(memory_bytes())) // tasks

    def open_disk_table() -> Table:
        return DiskTable(spec.table_directory, name, memory)

    name, on_disk = f"{spec.application}-{sub_topology}-{number}", spec.tables is Tables.PERSISTENT
    table: Table = open_disk_table() if on_disk else MemoryTable()
    elsewhere = frozenset(store.name.encode() for store in stores if store.options.persistent is (not on_disk))
    if elsewhere:
        table = SplitTable(table, MemoryTable() if on_disk else open_disk_table(), elsewhere)
    # Before the snapshot is loaded, which is skipped if the copy has more commits.
    if spec.standby_directory:
        file = copy_file(spec.standby_directory, spec.application, sub_topology, number)
        if load_copy(file, table):
            log.info("%s: loaded %d rows from the standby's copy %s", name, len(table), file)
        else:
            log.info("%s: the standby has no usable copy %s: loading the snapshot instead", name, file)
    return table
