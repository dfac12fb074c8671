"""The rights on the broker that each role of a service needs, computed from the service's declaration."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from forebay.catalog import Service, Topic
from forebay.job import load_job
from forebay.kafka.identities import (
    control_group,
    marker_group,
    replay_group,
    rescale_topic,
    restore_group,
    standby_group,
    transactional_prefix,
)
from forebay.utils.names import literal_start


class Resource(Enum):
    """The kind of resource of a right. Values are options of kafka-acls; the broker's error names begin with names."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"

    @property
    def words(self) -> str:
        """The resource in words, for messages."""
        return self.value.replace("-", " ")


class Operation(Enum):
    """An operation that a right allows. The values are kafka-acls' words.

    READ, WRITE and DELETE imply DESCRIBE. ALTER_CONFIGS implies DESCRIBE_CONFIGS.
    """

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"


class Role(Enum):
    """A role of a principal that works with a service.

    RUN: the job. RESTORE: `forebay standby`. QUERY: `forebay queries`, which needs no group. PRODUCE: the producers of
    its inputs. CONSUME: readers of its results with `forebay tail`, which needs no group either. OPERATE: `topics`,
    `reset`, `store upgrade`; in addition to RUN if the command runs the job itself. CONSOLE: `forebay console`, in
    addition to QUERY for the query servers that it starts. REPLAY: `forebay errors replay`. `forebay rescale` is for
    administrators.
    """

    RUN = "run"
    RESTORE = "restore"
    QUERY = "query"
    PRODUCE = "produce"
    CONSUME = "consume"
    OPERATE = "operate"
    CONSOLE = "console"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Right:
    """One right on a resource of the broker.

    Args:
        name: name of the resource; if `prefixed`, the prefix of the names of all its resources.
        why: its purpose, for people.
    """

    operation: Operation
    resource: Resource
    name: str
    why: str = field(compare=False)
    prefixed: bool = False

    def __str__(self) -> str:
        return f"{self.operation.value} on the {self.resource.words} {self.name}{'*' if self.prefixed else ''}"


def rights(service: Service, application: str, role: Role) -> tuple[Right, ...]:
    """Return the minimal rights that `role` needs.

    Args:
        application: the job's application id.
    """
    service = service.as_application(application)
    match role:
        case Role.RUN:
            return _run(service, application)
        case Role.RESTORE:
            changelogs = service.changelogs(application, 1)
            return (
                *(_topic(Operation.READ, topic, "rows and positions") for topic in changelogs),
                Right(Operation.READ, Resource.GROUP, standby_group(application), "`forebay standby`"),
            )
        case Role.QUERY:
            return (
                *(_topic(Operation.READ, topic, "rows and positions") for topic in service.changelogs(application, 1)),
                *(Right(Operation.WRITE, Resource.TOPIC, name, _INSERT) for name in _insertable_topics(service)),
            )
        case Role.PRODUCE:
            return tuple(_topic(Operation.WRITE, topic, "events") for topic in service.inputs)
        case Role.CONSUME:
            results = (*service.outputs, service.errors, service.late)
            return tuple(_topic(Operation.READ, topic, "results") for topic in results)
        case Role.OPERATE:
            return _operate(service, application)
        case Role.CONSOLE:
            topics = (*service.inputs, *service.outputs, service.errors, service.late)
            return (
                *(_topic(Operation.READ, topic, "its records") for topic in topics),
                *(_topic(Operation.READ, topic, "its records") for topic in service.own_topics(application, 1)),
                Right(Operation.DESCRIBE, Resource.GROUP, control_group(application), "reports of the tasks"),
                Right(Operation.DESCRIBE, Resource.GROUP, restore_group(application), "progress of restores"),
            )
        case Role.REPLAY:
            replayed = replay_group(application)
            return (
                _topic(Operation.READ, service.errors, "records that failed"),
                *(_topic(Operation.WRITE, topic, "the same records again") for topic in service.inputs),
                *(
                    Right(Operation.WRITE, Resource.TOPIC, literal_start(pattern), "the same", prefixed=True)
                    for pattern in service.patterns
                ),
                Right(Operation.READ, Resource.GROUP, replayed, "position of the replay"),
                Right(Operation.WRITE, Resource.TRANSACTIONAL_ID, replayed, "one transaction for 1,000 records"),
            )


def missing_kind(cause: str) -> Resource | None:
    """Return the kind of resource to which an error's text says the broker refused access; None: no such refusal."""
    return next((kind for kind in Resource if f"{kind.name}_AUTHORIZATION_FAILED" in cause), None)


def as_commands(granted: Iterable[Right], principal: str, connection: str) -> list[str]:
    """Return kafka-acls commands that grant the rights to a principal, such as User:job.

    Args:
        connection: options of kafka-acls to connect to the broker as an administrator.
    """
    lines = []
    for right in granted:
        pattern = " --resource-pattern-type prefixed" if right.prefixed else ""
        lines.append(
            f"kafka-acls {connection} --add --allow-principal {shlex.quote(principal)} "
            f"--operation {right.operation.value} --{right.resource.value} {shlex.quote(right.name)}{pattern}"
        )
    return lines


def _run(service: Service, application: str) -> tuple[Right, ...]:
    changelogs = service.changelogs(application, 1)
    stores, sub_topologies = changelogs[: len(service.stores)], changelogs[len(service.stores) :]
    written = [
        *(_topic(Operation.WRITE, topic, "results") for topic in service.outputs),
        _topic(Operation.WRITE, service.errors, "failed records"),
        _topic(Operation.WRITE, service.late, "late records"),
        *(_topic(Operation.WRITE, topic, "a store's changelog") for topic in stores),
        *(_topic(Operation.WRITE, topic, "timers, event ids") for topic in sub_topologies),
    ]
    repartitions = service.repartitions(application, 1)
    groups = [
        (marker_group(application), "positions of the tasks"),
        (control_group(application), "messages between driver and workers"),
        (restore_group(application), "progress of a restore"),
    ]
    return (
        *(_topic(Operation.READ, topic, "input, and commits of its offsets") for topic in service.inputs),
        *(Right(Operation.WRITE, Resource.TOPIC, name, _INSERT) for name in _inserted_topics(service)),
        *(
            Right(Operation.READ, Resource.TOPIC, literal_start(pattern), f"inputs that match {pattern}", prefixed=True)
            for pattern in service.patterns
        ),
        *written,
        *(_topic(Operation.READ, topic, "rows and positions") for topic in changelogs),
        *(
            _topic(operation, topic, "records between sub-topologies")
            for topic in repartitions
            for operation in (Operation.READ, Operation.WRITE, Operation.DELETE)
        ),
        Right(
            Operation.DESCRIBE, Resource.TOPIC, rescale_topic(application), "whether a `forebay rescale` is incomplete"
        ),
        *(Right(Operation.READ, Resource.GROUP, name, why) for name, why in groups),
        Right(
            Operation.WRITE,
            Resource.TRANSACTIONAL_ID,
            transactional_prefix(application),
            "a transaction per group and commit",
            prefixed=True,
        ),
    )


_INSERT = "INSERT INTO ... VALUES"


def _inserted_topics(service: Service) -> list[str]:
    """Return the topics that the job's own INSERT INTO ... VALUES write at its first start."""
    program = _program_of(service)
    if program is None:
        return []
    return sorted({program.catalog.get(insert.name, insert.place).topic for insert in program.inserts})


def _insertable_topics(service: Service) -> list[str]:
    """Return the topics to which `POST /sql` may send INSERT INTO ... VALUES: those of declared streams and tables."""
    program = _program_of(service)
    if program is None:
        return []
    return sorted({source.topic for source in program.catalog if not source.is_derived and source.windowing is None})


def _program_of(service: Service) -> Any:
    job = load_job(service.job)
    return None if job.program is None else job.program()


_UNDO = (Operation.DESCRIBE_CONFIGS, Operation.DELETE)


def _operate(service: Service, application: str) -> tuple[Right, ...]:
    changelogs = service.own_topics(application, 1)
    others = (*service.inputs, *service.outputs, service.errors, service.late)
    topics = (*others, *changelogs)
    emptied = tuple(topic for topic in topics if topic not in service.inputs)
    groups = (marker_group(application), control_group(application))
    return (
        *(_topic(Operation.CREATE, topic, "`topics create`") for topic in topics),
        *(_topic(Operation.DESCRIBE_CONFIGS, topic, "`topics create`, `topics describe`") for topic in others),
        *(_topic(Operation.DESCRIBE, topic, "the same") for topic in service.inputs),
        *(_topic(Operation.DELETE, topic, "`reset`") for topic in emptied),
        *(Right(operation, Resource.TOPIC, rescale_topic(application), "`reset`") for operation in _UNDO),
        *(_topic(Operation.READ, topic, "`store upgrade --dry-run`, `reset`") for topic in changelogs),
        *(_topic(Operation.ALTER_CONFIGS, topic, "`store upgrade`") for topic in changelogs),
        *(Right(Operation.DELETE, Resource.GROUP, name, "`reset`") for name in groups),
    )


def _topic(operation: Operation, topic: Topic, why: str) -> Right:
    return Right(operation, Resource.TOPIC, topic.name, why)
