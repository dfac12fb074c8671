"""The table of services: what the CLI, jobs, producers, charts and documentation read.

Packages bring them (see forebay.plugins); the library has none of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from forebay.job import Matched, load_job, matched_topics
from forebay.limits import CHANGELOG_MAX_BYTES, DELETE_RETENTION, DELETE_RETENTION_MS, SIDE_MAX_BYTES
from forebay.names import check_name
from forebay.plugins import ATTRIBUTE, GROUP, VARIABLE, Named, PluginError, attribute_of, package_of, yield_modules
from forebay.spelling import did_you_mean

# `after.max` is set to the maximum because newer brokers refuse timestamps an hour ahead of their clock by default, and
# event times may be ahead.
TIMESTAMPS: Mapping[str, str] = MappingProxyType(
    {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(2**63 - 1)}
)
"""Of topics that a job writes: timestamps are event times, regardless of a broker's defaults."""

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
"""Kept until the job has used them, and then deleted by it."""
SIDE_TOPIC: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(SIDE_MAX_BYTES), **TIMESTAMPS}
)

COMPACTION_LAG = "min.compaction.lag.ms"
MAX_DOWNTIME_MS = 86_400_000
"""Downtime that a job survives by default, in ms: its compacted inputs keep every record for as long."""

NO_SERVICES = "no package brings one: `pip install forebay-services`, or write one with `forebay new NAME`"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the table.

    Args:
        name: the topic's name.
        record: name of its values' contract; "" where values are bytes as they came.
        partitions: how many it is created with.
        config: topic configuration it is created with.
        own: whether it is a job's own, with a partition for each task and never another number.
        alias: what job and logic call it; "": by its name (see forebay.renaming).
        replicas: how many copies of each partition it is created with; 0: as many as the broker makes by itself.

    Raises:
        IllegalName: Kafka has no topics of that name. ValueError: it would have no partition.
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
        """Its name in the table and in the job."""
        return self.alias or self.name

    def kept_for(self, downtime_ms: int) -> Topic:
        """Return the topic as a job can read it after a downtime: if it is compacted, not sooner than that."""
        is_compacted = "compact" in self.config.get("cleanup.policy", "")
        if not is_compacted or int(self.config.get(COMPACTION_LAG, "0")) >= downtime_ms:
            return self
        return dataclasses.replace(self, config={**self.config, COMPACTION_LAG: str(downtime_ms)})

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.partitions < 1:
            raise ValueError(f"the topic {self.name} has {self.partitions} partitions: write partitions=1 or more")


class SubTopologies:
    """The number of a service's sub-topologies: of its job's, unless the entry names it."""

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
    """One service: a Spark job with its topics and stores.

    Args:
        name: as given to the CLI; also the contracts' folder and the default application id.
        summary: what it does, in a line.
        inputs: topics it reads; co-partitioned.
        outputs: topics it writes; the first is the one results go to by default. Their configuration says TIMESTAMPS
            unless it sets another value.
        stores: its stores' names with the contracts of their values.
        job: module that wires model and logic (`JOB`).
        stages: number of the job's sub-topologies. It need not be given: it is counted when it is asked for.
        producers: modules that make events for its inputs (`SOURCE`).
        application: id of the job that it is looked at for; "" for its name (see as_application).
        patterns: contracts of records by the pattern of topics that it reads besides its inputs (Topology.stream).
        contracts: folder of its contracts' files; "": avro/<name>/, or next to its job if that does not exist.
        columns: module that says which fields the demo shows of its outputs (`COLUMNS`); "": it shows the first ones.

    Raises:
        IllegalName: its name or a store's, which topics are named after, is none that Kafka takes.
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
        """The topic results go to by default."""
        return self.outputs[0]

    @property
    def package(self) -> str:
        """The package its job is in."""
        return package_of(self.job)

    @property
    def errors(self) -> Topic:
        """Records that could not be used."""
        return Topic(f"{self.application or self.name}.errors", partitions=1, config=SIDE_TOPIC)

    @property
    def late(self) -> Topic:
        """Records that came too late."""
        return Topic(f"{self.application or self.name}.late", partitions=1, config=SIDE_TOPIC)

    def as_application(self, application: str) -> Service:
        """Return the service as that job sees it: records that it can't use are its own."""
        return self if application == self.application else dataclasses.replace(self, application=application)

    def matched(self, found: Matched) -> Service:
        """Return the service with the topics that match its patterns among its inputs."""
        more = tuple(Topic(name, self.patterns[pattern]) for pattern, names in found.items() for name in names)
        return dataclasses.replace(self, inputs=(*self.inputs, *more)) if more else self

    def changelogs(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the changelog topics of a job with that application id: one partition per task."""
        stores = [
            Topic(f"{application}-{store}-changelog", record, tasks, COMPACTED, own=True)
            for store, record in self.stores.items()
        ]
        stages = [Topic(f"{application}-{stage}-task", "", tasks, COMPACTED, own=True) for stage in range(self.stages)]
        return (*stores, *stages)

    def repartitions(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the topics between the job's sub-topologies: one partition per task."""
        job = load_job(self.job)
        records = {
            name: job.contract(name, record) for part in job.topology for name, record in part.repartitions.items()
        }
        return tuple(
            Topic(f"{application}-{name}-repartition", record, tasks, REPARTITION, own=True)
            for name, record in records.items()
        )

    def own_topics(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Return the topics that only this job uses: changelogs and repartitions."""
        return (*self.changelogs(application, tasks), *self.repartitions(application, tasks))

    def topics(self, application: str = "", tasks: int = 0) -> tuple[Topic, ...]:
        """Return every topic of a job, its own with a partition per task (0: as many as its first input has)."""
        own = self.own_topics(application or self.name, tasks or (self.inputs[0].partitions if self.inputs else 1))
        sides = self.as_application(application)
        topics = (*self.inputs, *self.outputs, sides.errors, sides.late, *own)
        return tuple({topic.name: topic for topic in topics}.values())  # what the job writes may be an input as well


class UnknownService(ValueError):
    """No service of that name; the message names those there are."""


def all_services() -> Mapping[str, Service]:
    """Return the services there are (see forebay.plugins), by name; installed ones in order of their names.

    Raises:
        PluginError: one of them can't be used.
    """
    table: dict[str, Service] = {}
    for point in yield_modules(GROUP):
        service = _brought(point)
        if service.name in table:
            raise PluginError(f"{point.place} brings a second service {service.name!r}: give it another name")
        table[service.name] = service
    return MappingProxyType(table)


def find_service(name: str) -> Service:
    """Return a service of the table.

    Looked at are those whose entry points have its name, then those of FOREBAY_SERVICES, then the others, until it is
    found: a job's processes need not import every other service.

    Raises:
        UnknownService. PluginError: it can't be used, or one that was looked at.
    """
    for point in sorted(yield_modules(GROUP), key=lambda point: (point.name != name, point.origin != VARIABLE)):
        service = _brought(point)
        if service.name == name:
            return service.matched(matched_topics(service.job))
    table = all_services()
    raise UnknownService(f"there is no service {name!r}{did_you_mean(name, table) or ': ' + _choice(table)}")


def _brought(point: Named) -> Service:
    service = attribute_of(point.module, ATTRIBUTE, point.place)
    if not isinstance(service, Service):
        raise PluginError(f"SERVICE of {point.place} is no forebay.catalog.Service: see docs/new-service.md")
    return service


def _choice(table: Mapping[str, Service]) -> str:
    return f"choose one of {', '.join(table)}" if table else NO_SERVICES
