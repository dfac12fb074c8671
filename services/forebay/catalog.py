"""The table of services, which the CLI, jobs, producers, charts and documentation read.

Packages provide services through entry points (see forebay.service.plugins). The library itself contains none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from forebay.job import Matched, load_job, matched_topics
from forebay.limits.topics import CHANGELOG_MAX_BYTES, DELETE_RETENTION, DELETE_RETENTION_MS, SIDE_MAX_BYTES
from forebay.service.plugins import (
    ATTRIBUTE,
    GROUP,
    VARIABLE,
    Named,
    PluginError,
    attribute_of,
    package_of,
    yield_modules,
)
from forebay.utils.names import check_name
from forebay.utils.spelling import did_you_mean

# `after.max` is set to the maximum because newer brokers refuse timestamps an hour ahead of their clock by default, and
# event times may be ahead.
TIMESTAMPS: Mapping[str, str] = MappingProxyType(
    {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(2**63 - 1)}
)
"""Configuration of topics that a job writes: timestamps are event times, regardless of a broker's defaults."""

KEEP_FOREVER: Mapping[str, str] = MappingProxyType({"retention.ms": "-1"})
COMPACTED: Mapping[str, str] = MappingProxyType(
    {
        "cleanup.policy": "compact",
        "max.message.bytes": str(CHANGELOG_MAX_BYTES),
        DELETE_RETENTION: str(DELETE_RETENTION_MS),
        **TIMESTAMPS,
    }
)
REPARTITION: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(CHANGELOG_MAX_BYTES), **TIMESTAMPS}
)
"""Configuration of repartition topics: the job deletes their records once it has processed them."""
SIDE_TOPIC: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(SIDE_MAX_BYTES), **TIMESTAMPS}
)

COMPACTION_LAG = "min.compaction.lag.ms"
MAX_DOWNTIME_MS = 86_400_000
"""Downtime that a job survives by default, in ms: its compacted inputs keep every record for as long."""

NO_SERVICES = "no package brings one: `pip install forebay-services`, or write one with `forebay new NAME`"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a service.

    Args:
        name: Name of the topic.
        record: Name of the contract of its values; "" if the values are bytes.
        partitions: Number of partitions with which it is created.
        config: Topic configuration with which it is created.
        own: Whether the topic belongs to one job. It then always has one partition for each task.
        alias: Name that job and logic use; "": the same name (see forebay.service.renaming).
        replicas: Replication factor with which it is created; 0: the broker's default.

    Raises:
        IllegalName: Kafka does not allow the name.
        ValueError: The number of partitions is less than 1.
    """

    name: str
    record: str = ""
    partitions: int = 4
    config: Mapping[str, str] = field(default_factory=lambda: KEEP_FOREVER)
    own: bool = False
    alias: str = ""
    replicas: int = 0

    @property
    def declared(self) -> str:
        """Name of the topic in the service's entry and in the job."""
        return self.alias or self.name

    def kept_for(self, downtime_ms: int) -> Topic:
        """Return the topic with a min.compaction.lag.ms that covers a downtime, if it is compacted."""
        is_compacted = "compact" in self.config.get("cleanup.policy", "")
        if not is_compacted or int(self.config.get(COMPACTION_LAG, "0")) >= downtime_ms:
            return self
        return dataclasses.replace(self, config={**self.config, COMPACTION_LAG: str(downtime_ms)})

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.partitions < 1:
            raise ValueError(f"the topic {self.name} has {self.partitions} partitions: write partitions=1 or more")


class SubTopologies:
    """The number of a service's sub-topologies, taken from its job unless the entry specifies it."""

    def __get__(self, service: Service | None, _kind: object = None) -> int:
        if service is None:
            return 0
        # Count lazily: loading a job imports its modules, which the table of services must not do for every entry.
        named: int = vars(service)["stages"]
        return named or len(load_job(service.job).topology)

    def __set__(self, service: Service, number: int) -> None:
        vars(service)["stages"] = number


@dataclass(frozen=True)
class Service:
    """A service: a job with its topics and stores.

    Args:
        name: Name on the command line. It is also the folder of the contracts and the default application id.
        summary: One line that says what the service does.
        inputs: Topics that it reads. They are co-partitioned.
        outputs: Topics that it writes. By default, results go to the first one. Their configuration is TIMESTAMPS
            unless the entry sets other values.
        stores: Name of the contract of each store's values.
        job: Module with the job (`JOB`).
        stages: Number of sub-topologies of the job. By default, it is taken from the job when it is first needed.
        producers: Modules that generate events for its inputs (`SOURCE`).
        application: Application id; "" for the name (see as_application).
        patterns: Contract of the records of topics that it reads by pattern, by pattern (Topology.stream).
        contracts: Folder of the contracts; "": avro/<name>/ or, if that does not exist, the folder of the job.
        columns: Module that lists the fields of outputs that the demo shows (`COLUMNS`); "": the first fields.

    Raises:
        IllegalName: The service or a store has a name that Kafka does not allow in names of topics.
    """

    name: str
    summary: str
    inputs: tuple[Topic, ...]
    outputs: tuple[Topic, ...]
    stores: Mapping[str, str]
    job: str
    stages: SubTopologies = SubTopologies()
    producers: tuple[str, ...] = ()
    application: str = ""
    contracts: str = ""
    columns: str = ""
    patterns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (self.name, *self.stores):
            check_name(name)
        object.__setattr__(self, "inputs", tuple(topic.kept_for(MAX_DOWNTIME_MS) for topic in self.inputs))
        written = {topic.name for topic in self.inputs}
        outputs = (
            dataclasses.replace(topic, config={**TIMESTAMPS, **topic.config}).kept_for(
                MAX_DOWNTIME_MS if topic.name in written else 0
            )
            for topic in self.outputs
        )
        object.__setattr__(self, "outputs", tuple(outputs))

    @property
    def output(self) -> Topic:
        """Topic to which results go by default."""
        return self.outputs[0]

    @property
    def package(self) -> str:
        """Package that contains the job."""
        return package_of(self.job)

    @property
    def errors(self) -> Topic:
        """Dead-letter topic: records that failed."""
        return Topic(f"{self.application or self.name}.errors", partitions=1, config=SIDE_TOPIC)

    @property
    def late(self) -> Topic:
        """Late topic: records that arrived too late."""
        return Topic(f"{self.application or self.name}.late", partitions=1, config=SIDE_TOPIC)

    def as_application(self, application: str) -> Service:
        """Return the service with another application id, which prefixes its own topics, `.errors` and `.late`."""
        return self if application == self.application else dataclasses.replace(self, application=application)

    def with_matches(self, found: Matched) -> Service:
        """Return the service with the topics that match its patterns among its inputs."""
        more = tuple(Topic(name, self.patterns[pattern]) for pattern, names in found.items() for name in names)
        return dataclasses.replace(self, inputs=(*self.inputs, *more)) if more else self

    def changelogs(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the changelog topics of the job with an application id. Each has one partition per task."""
        stores = [
            Topic(f"{application}-{store}-changelog", record, tasks, COMPACTED, own=True)
            for store, record in self.stores.items()
        ]
        stages = [Topic(f"{application}-{stage}-task", "", tasks, COMPACTED, own=True) for stage in range(self.stages)]
        return (*stores, *stages)

    def repartitions(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the repartition topics of the job. Each has one partition per task."""
        job = load_job(self.job)
        records = {
            name: job.contract(name, record)
            for sub_topology in job.topology
            for name, record in sub_topology.repartitions.items()
        }
        return tuple(
            Topic(f"{application}-{name}-repartition", record, tasks, REPARTITION, own=True)
            for name, record in records.items()
        )

    def own_topics(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the topics that only this job uses: changelogs and repartitions."""
        return (*self.changelogs(application, tasks), *self.repartitions(application, tasks))

    def topics(self, application: str = "", tasks: int = 0) -> tuple[Topic, ...]:
        """Return all topics of a job. Its own topics have a partition per task (0: as many as the first input)."""
        own = self.own_topics(application or self.name, tasks or (self.inputs[0].partitions if self.inputs else 1))
        sides = self.as_application(application)
        topics = (*self.inputs, *self.outputs, sides.errors, sides.late, *own)
        return tuple({topic.name: topic for topic in topics}.values())  # what the job writes may be an input as well


class UnknownService(ValueError):
    """There is no service with this name. The message lists the services."""


def all_services() -> Mapping[str, Service]:
    """Return all services by name (see forebay.service.plugins). Installed services are sorted by name.

    Raises:
        PluginError: A service can't be loaded.
    """
    table: dict[str, Service] = {}
    for point in yield_modules(GROUP):
        service = _brought(point)
        if service.name in table:
            raise PluginError(f"{point.place} defines a second service named {service.name!r}: give it another name")
        table[service.name] = service
    return MappingProxyType(table)


def find_service(name: str) -> Service:
    """Return the service with this name.

    The search first loads entry points with this name, then the modules of FOREBAY_SERVICES, then all other services.
    It stops when it finds the service, so that a job's processes do not import every other service.

    Raises:
        UnknownService: There is no service with this name.
        PluginError: The service, or one that was loaded before it, can't be loaded.
    """
    for point in sorted(yield_modules(GROUP), key=lambda point: (point.name != name, point.origin != VARIABLE)):
        service = _brought(point)
        if service.name == name:
            return service.with_matches(matched_topics(service.job))
    table = all_services()
    raise UnknownService(f"there is no service {name!r}{did_you_mean(name, table) or ': ' + _choice(table)}")


def _brought(point: Named) -> Service:
    service = attribute_of(point.module, ATTRIBUTE, point.place)
    if not isinstance(service, Service):
        raise PluginError(f"SERVICE of {point.place} is not a forebay.catalog.Service: see docs/new-service.md")
    return service


def _choice(table: Mapping[str, Service]) -> str:
    return f"choose one of {', '.join(table)}" if table else NO_SERVICES
