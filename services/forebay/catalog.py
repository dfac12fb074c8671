"""The table of services: what the CLI, jobs, producers, charts and documentation read.

Adding a service is one entry here and one folder beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

KEEP_FOREVER: Mapping[str, str] = MappingProxyType({"retention.ms": "-1"})
COMPACTED: Mapping[str, str] = MappingProxyType({"cleanup.policy": "compact", "max.message.bytes": "2097152"})
SIDE_TOPIC: Mapping[str, str] = MappingProxyType({"retention.ms": "-1", "max.message.bytes": "4194304"})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the table.

    Args:
        name: the topic's name.
        record: name of its values' contract in avro/<service>/; "" where values are bytes as they came.
        partitions: how many it is created with.
        config: topic configuration it is created with.
    """

    name: str
    record: str = ""
    partitions: int = 4
    config: Mapping[str, str] = field(default_factory=lambda: KEEP_FOREVER)


@dataclass(frozen=True, slots=True)
class Service:
    """One service: a Spark job with its topics and stores.

    Args:
        name: as given to the CLI; also the contracts' folder and the default application id.
        summary: what it does, in a line.
        inputs: topics it reads; co-partitioned.
        output: topic it writes.
        stores: its stores' names with the contracts of their values.
        job: module that wires model and logic (`JOB`).
    """

    name: str
    summary: str
    inputs: tuple[Topic, ...]
    output: Topic
    stores: Mapping[str, str]
    job: str

    @property
    def errors(self) -> Topic:
        """Records that could not be used."""
        return Topic(f"{self.name}.errors", partitions=1, config=SIDE_TOPIC)

    @property
    def late(self) -> Topic:
        """Records that came too late."""
        return Topic(f"{self.name}.late", partitions=1, config=SIDE_TOPIC)

    def changelogs(self, application: str, tasks: int) -> tuple[Topic, ...]:
        """Give the changelog topics of a job with that application id: one partition per task."""
        stores = [
            Topic(f"{application}-{store}-changelog", record, tasks, COMPACTED) for store, record in self.stores.items()
        ]
        return (*stores, Topic(f"{application}-0-task", "", tasks, COMPACTED))

    def topics(self, application: str = "") -> tuple[Topic, ...]:
        """Give every topic of the service, changelogs with as many partitions as its first input."""
        tasks = self.inputs[0].partitions
        return (*self.inputs, self.output, self.errors, self.late, *self.changelogs(application or self.name, tasks))


SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        service.name: service
        for service in (
            Service(
                name="user-sessions",
                summary="session statistics of each user, after every activity and every idle end",
                inputs=(Topic("user_activity", "UserActivity"),),
                output=Topic("user_session_stats", "UserSessionStats"),
                stores={"user-profiles": "UserProfile"},
                job="user_sessions.job",
            ),
        )
    }
)


class UnknownService(ValueError):
    """No service of that name; the message names those there are."""


def find_service(name: str) -> Service:
    """Give a service of the table. Raises UnknownService."""
    if name not in SERVICES:
        raise UnknownService(f"there is no service {name!r}: choose one of {', '.join(SERVICES)}")
    return SERVICES[name]
