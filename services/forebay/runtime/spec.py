"""The specification of a job for its workers: small, picklable, and created once by the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from forebay.catalog import Service, find_service
from forebay.job import match_topics
from forebay.kafka import identities
from forebay.kafka.settings import KafkaSettings
from forebay.limits.topics import TopicLimits
from forebay.processor.engine_settings import Emit
from forebay.runtime.broker.broker_problems import Needs
from forebay.runtime.task.pacing import Limits
from forebay.service.renaming import rename
from forebay.stores.kinds import OnChange
from forebay.stores.layouts import Layout


class Tables(Enum):
    """Where a task's table is stored while its worker runs. The changelogs are authoritative in either case."""

    IN_MEMORY = "in_memory"
    PERSISTENT = "persistent"


@dataclass(frozen=True, slots=True)
class StartFrom:
    """Where a job without a checkpoint begins to read: earliest, latest, or a timestamp in ms."""

    position: str = "earliest"
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The specification of one job, for its driver and its workers.

    Args:
        service: name in the table of services.
        application: prefix of changelog topics, transactional ids and groups.
        tasks: number of state tasks.
        groups: number of task groups, fixed at the first start.
        kafka: connection settings, including secrets, which are never logged or written.
        logic: settings of the service's logic, by name.
        schema_ids: registered ids of the contracts, by topic.
        topic_limits: limits of the topics that the job writes, by name, as of the start.
        code_version: version of library, logic and settings.
        max_output_bytes: largest size of the outputs of one record; 0: by the worker's memory.
        max_state_bytes: largest size of a task's state; 0: by the worker's memory.
        tables: where tables are stored; `table_directory` for persistent ones.
        table_memory_bytes: memory of a worker's persistent tables; 0: by the worker's memory.
        standby_directory: directory of a standby's copies of tables on this machine; "" for none.
        on_change: what to do if a store's rows were written in another format than it declares.
        restore: whether a job without a checkpoint restores its state from the changelogs.
        restore_only: whether the job ends once its state is restored.
        align: whether a job with end offsets advances the closing times of all tasks to the latest before it ends.
        matched: topics by the pattern that they matched at the start of the job.
        tombstone_ms: how long the changelogs keep deletes.
        accept_gaps: inputs whose records may have been deleted before they were read (see protocol.gaps).
        topics: the broker's names of inputs and outputs, if the service declares others.
        former: internal changelogs of an earlier topology, which no longer belong to a sub-topology.
        record_layouts: layouts of unread records of earlier versions of the program, by repartition topic and digest.
        checkpoint: path or URL of the checkpoint, below which snapshots are stored. "": the driver is of release 0.2,
            which does not set it, and no snapshots are stored.
        store_settings: Spark's settings of the object store that holds the checkpoint (secrets included).
        run: id of the driver's process, by which it ignores the reports to an earlier driver.
    """

    service: str
    application: str
    tasks: int
    groups: int
    kafka: KafkaSettings
    logic: Mapping[str, Any]
    schema_ids: Mapping[str, int]
    code_version: str
    emit: Emit = Emit.EVERY
    dedupe_retention_ms: int = 600_000
    max_future_ms: int = 3_600_000
    max_record_bytes: int = 1_000_000
    max_output_bytes: int = 0
    max_state_bytes: int = 0
    max_error_rate: float = 0.5
    topic_limits: Mapping[str, TopicLimits] = field(default_factory=dict)
    cached_objects: int = 50_000
    tables: Tables = Tables.IN_MEMORY
    table_directory: str = ""
    table_memory_bytes: int = 0
    standby_directory: str = ""
    start: StartFrom = StartFrom()
    limits: Limits = field(default_factory=Limits)
    transaction_timeout_ms: int = 60_000
    log_format: str = "text"
    on_change: OnChange = OnChange.REFUSE
    restore: bool = False
    restore_only: bool = False
    align: bool = False
    tombstone_ms: int = 86_400_000
    accept_gaps: Sequence[str] = ()
    matched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    former: Sequence[str] = ()
    record_layouts: Mapping[str, Mapping[str, Layout]] = field(default_factory=dict)
    checkpoint: str = ""
    store_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    run: str = ""

    @property
    def entry(self) -> Service:
        """The service with the side topics of this application, and the broker's names of topics."""
        return rename(find_service(self.service).as_application(self.application), self.topics)

    @property
    def marker_group(self) -> str:
        """Consumer group to which the tasks' positions are committed, for lag tools and a cheap ownership check."""
        return identities.marker_group(self.application)

    @property
    def control_group(self) -> str:
        """Consumer group through whose offset metadata driver and workers communicate."""
        return identities.control_group(self.application)

    @property
    def probe_group(self) -> str:
        """Consumer group for looking up offsets. It commits nothing."""
        return identities.probe_group(self.application)

    @property
    def restore_group(self) -> str:
        """Consumer group whose offsets show the progress of a restore. The job only writes it."""
        return identities.restore_group(self.application)

    def transactional_id(self, group: int) -> str:
        """Return the transactional id of a task group."""
        return identities.transactional_id(self.application, group)


def recall_matches(spec: JobSpec) -> None:
    """Let this process read the topics that matched at the start of the job."""
    if spec.matched:
        match_topics(find_service(spec.service).job, spec.matched)


def needs_of(fields: Mapping[str, Any]) -> Needs:
    """Return the requirements of a job with these fields of its spec, and defaults for the others."""

    def value(name: str) -> int:
        return int(fields.get(name, JobSpec.__dataclass_fields__[name].default))

    return Needs(value("transaction_timeout_ms"), value("max_future_ms"), value("max_record_bytes"))
