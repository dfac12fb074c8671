"""Problems of the configuration of the topics that a job writes, computed from the broker's descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from forebay.catalog import Service, Topic
from forebay.kafka.topics import TopicDescription, alter_command
from forebay.limits.topics import DELETE_RETENTION, DELETE_RETENTION_MS
from forebay.runtime.broker.broker_problems import Finding, Needs, number

MAX_BYTES = "max.message.bytes"
TIMESTAMP_TYPE = "message.timestamp.type"
FUTURE = "message.timestamp.after.max.ms"
PAST = "message.timestamp.before.max.ms"
IN_SYNC = "min.insync.replicas"
POLICY = "cleanup.policy"

_NO_LIMIT = 2**63 - 1
_HEADER_BYTES = 4_096
"""Room for headers and overhead of a record of `.errors` or `.late`, in addition to the original record."""

_FORGETS = "keeps deletes for less than a day: after a downtime of half of this time, a start reads the whole changelog"

Judge = Callable[[TopicDescription], str]
"""Returns the problem of a topic; "" if it has none."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One setting of some topics, and its required value."""

    topics: Sequence[TopicDescription]
    name: str
    value: str
    fatal: bool
    judge: Judge

    def findings(self) -> list[Finding]:
        """Return a finding for each problem, with the topics that have it."""
        wrong: dict[str, list[str]] = {}
        for topic in self.topics:
            if text := self.judge(topic):
                wrong.setdefault(text, []).append(topic.name)
        return [
            Finding(
                f"{', '.join(names)}: {text}: `{alter_command(names[0], self.name, self.value)}`"
                f"{' (and so for each)' if len(names) > 1 else ''}",
                self.fatal,
            )
            for text, names in wrong.items()
        ]


def topic_findings(
    service: Service, application: str, found: Mapping[str, TopicDescription], needs: Needs, brokers: int
) -> list[Finding]:
    """Return the problems of the topics that the job writes, each once.

    Args:
        found: the job's topics by name, including inputs; missing topics are left out.
        brokers: number of brokers; 0: unknown.
    """
    declared = service.changelogs(application, 1)
    changelogs, outputs = _those(declared, found), _those(service.outputs, found)
    sided = service.as_application(application)
    sides = _those((sided.errors, sided.late), found)
    others = [*outputs, *sides]
    written = [*others, *changelogs]
    row_bytes = min(int(topic.config[MAX_BYTES]) for topic in declared)
    largest = max((number(topic.config, MAX_BYTES) or 0 for topic in _those(service.inputs, found)), default=0)
    side_bytes = largest + _HEADER_BYTES if largest else 0
    future = f"refuses timestamps that the job accepts, which are up to {needs.max_future_ms} ms ahead of the clock"
    copies = _copies(written)
    rules = (
        _Rule(changelogs, POLICY, "compact", True, _is(POLICY, "compact", "lets rows of the state expire")),
        _Rule(sides, POLICY, "delete", True, _is(POLICY, "delete", "refuses records without a key")),
        _Rule(
            changelogs,
            *(TIMESTAMP_TYPE, "CreateTime", True),
            _is(TIMESTAMP_TYPE, "CreateTime", "replaces the timestamps of restored rows with the time of the write"),
        ),
        _Rule(
            others,
            *(TIMESTAMP_TYPE, "CreateTime", False),
            _is(TIMESTAMP_TYPE, "CreateTime", "replaces the timestamps of results with the time of the write"),
        ),
        _Rule(written, FUTURE, str(_NO_LIMIT), True, _least(FUTURE, needs.max_future_ms, future)),
        _Rule(written, PAST, str(_NO_LIMIT), False, _least(PAST, _NO_LIMIT, "refuses what comes of older records")),
        _Rule(changelogs, MAX_BYTES, str(row_bytes), False, _least(MAX_BYTES, row_bytes, "refuses large rows")),
        _Rule(
            changelogs,
            *(DELETE_RETENTION, str(DELETE_RETENTION_MS), False),
            _least(DELETE_RETENTION, DELETE_RETENTION_MS, _FORGETS),
        ),
        _Rule(sides, MAX_BYTES, str(side_bytes), False, _least(MAX_BYTES, side_bytes, "refuses large input records")),
        _Rule(
            outputs,
            *(MAX_BYTES, str(needs.max_record_bytes), False),
            _least(MAX_BYTES, needs.max_record_bytes, "refuses large outputs"),
        ),
        *copies,
    )
    return [*(finding for rule in rules for finding in rule.findings()), *_alone(written, brokers)]


def _those(topics: Sequence[Topic], found: Mapping[str, TopicDescription]) -> list[TopicDescription]:
    return [found[topic.name] for topic in topics if topic.name in found]


def _is(name: str, wanted: str, otherwise: str) -> Judge:
    def judge(topic: TopicDescription) -> str:
        value = topic.config.get(name, wanted)
        return "" if value == wanted else f"{name}={value} {otherwise}"

    return judge


def _least(name: str, least: int, otherwise: str) -> Judge:
    def judge(topic: TopicDescription) -> str:
        value = number(topic.config, name)
        return "" if value is None or value >= least else f"{name}={value} {otherwise}"

    return judge


def _copies(topics: Sequence[TopicDescription]) -> tuple[_Rule, ...]:
    def in_sync(topic: TopicDescription) -> int:
        return number(topic.config, IN_SYNC) or 1

    def too_many(topic: TopicDescription) -> str:
        wrong = in_sync(topic) > topic.replication_factor
        return f"{IN_SYNC}={in_sync(topic)} with {_copy_count(topic)} refuses every record" if wrong else ""

    def all_of_them(topic: TopicDescription) -> str:
        wrong = 1 < topic.replication_factor == in_sync(topic)
        return f"{IN_SYNC}={in_sync(topic)} with {_copy_count(topic)} needs every broker at all times" if wrong else ""

    def one_of_many(topic: TopicDescription) -> str:
        wrong = topic.replication_factor > 2 and in_sync(topic) == 1
        return (
            f"{IN_SYNC}=1 with {_copy_count(topic)} loses records if the only broker that has them fails"
            if wrong
            else ""
        )

    return (
        _Rule(topics, IN_SYNC, "1", True, too_many),
        _Rule(topics, IN_SYNC, "1", False, all_of_them),
        _Rule(topics, IN_SYNC, "2", False, one_of_many),
    )


def _copy_count(topic: TopicDescription) -> str:
    return "one copy" if topic.replication_factor == 1 else f"{topic.replication_factor} copies"


def _alone(topics: Sequence[TopicDescription], brokers: int) -> list[Finding]:
    names = [topic.name for topic in topics if topic.replication_factor == 1]
    if not names or brokers < 2:
        return []
    return [
        Finding(
            f"{', '.join(names)}: one copy on a cluster of {brokers} brokers: the job stops while that broker "
            "is away, and a lost disk is lost state: add copies with kafka-reassign-partitions, or create topics with "
            "--replication-factor",
            False,
        )
    ]
