"""What a worker needs to know to run a task: small, picklable, made once by the driver."""

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
from forebay.runtime.broker.findings import Needs
from forebay.runtime.task.pacing import Limits
from forebay.service.renaming import rename
from forebay.stores.kinds import OnChange


class Tables(Enum):
    """Where a task's table is kept while its worker lives; the state's checkpoint is the truth either way."""

    IN_MEMORY = "in_memory"
    PERSISTENT = "persistent"


@dataclass(frozen=True, slots=True)
class StartFrom:
    """Where a job without a checkpoint begins to read: earliest, latest, or a timestamp in ms."""

    position: str = "earliest"
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job, as driver and workers see it.

    Args:
        service: name in the table of services.
        application: prefix of changelog topics, transactional ids and groups.
        tasks: number of state tasks.
        groups: task groups that the tasks are spread over at the first start.
        kafka: connection settings (secrets included: never logged, never written).
        logic: settings of the service's logic, by name.
        schema_ids: registered id of each contract written, by topic.
        topic_limits: what the topics written take, by name, as the brokers said at the start.
        code_version: of library, logic and settings.
        max_output_bytes: of the outputs of one record; 0: what the worker's memory allows.
        max_state_bytes: of a task's state; 0: what the worker's memory allows.
        tables: where tables are kept; `table_directory` for persistent ones.
        table_memory_bytes: of a worker's persistent tables; 0: what the worker's memory allows.
        standby_directory: where a standby keeps warm copies of tables on this machine; "" for none.
        on_change: what to do if a store's rows were written in another format than it declares.
        restore: whether a job without a checkpoint takes its state from the changelogs.
        restore_only: whether it ends once the states are restored.
        align: whether a job that ends by itself first moves the closing times of all tasks on to the latest of them.
        matched: topics by the pattern that they matched as the job started.
        tombstone_ms: how long the changelogs keep deletes.
        accept_gaps: inputs whose records may have been deleted before they were read (see protocol.gaps).
        topics: the broker's names of inputs and outputs, where the service declares others.
        former: internal changelogs that belong to no sub-topology any more: of an earlier form of the topology.
        checkpoint: path or URL of the checkpoint, below which snapshots are kept. "": a driver of release 0.2 runs
            the job, which does not say it; no snapshots are kept then.
        store_settings: Spark's settings of the object store that holds the checkpoint (secrets included).
        run: identity of the driver's process: it ignores what workers of an earlier driver reported.
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
    checkpoint: str = ""
    store_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    run: str = ""

    @property
    def entry(self) -> Service:
        """The service as this job sees it: its own side topics, topics as the broker calls them."""
        return rename(find_service(self.service).as_application(self.application), self.topics)

    @property
    def marker_group(self) -> str:
        """Consumer group that the tasks' positions are committed to, for lag tools and a cheap ownership check."""
        return identities.marker_group(self.application)

    @property
    def control_group(self) -> str:
        """Consumer group by whose offsets' metadata driver and workers talk."""
        return identities.control_group(self.application)

    @property
    def probe_group(self) -> str:
        """Consumer group that looks into partitions: commits nothing."""
        return identities.probe_group(self.application)

    @property
    def restore_group(self) -> str:
        """Consumer group whose offsets show how far a restore has read; written only."""
        return identities.restore_group(self.application)

    def transactional_id(self, group: int) -> str:
        """Return the transactional id of a task group."""
        return identities.transactional_id(self.application, group)


def recall_matches(spec: JobSpec) -> None:
    """Have this process read the topics that matched as the job started."""
    if spec.matched:
        match_topics(find_service(spec.service).job, spec.matched)


def needs_of(fields: Mapping[str, Any]) -> Needs:
    """Return what a job with these fields of its spec, and defaults for the others, asks of its broker."""

    def value(name: str) -> int:
        return int(fields.get(name, JobSpec.__dataclass_fields__[name].default))

    return Needs(value("transaction_timeout_ms"), value("max_future_ms"), value("max_record_bytes"))
