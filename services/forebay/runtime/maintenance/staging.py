"""The staging topic of a rescale: the rows of the new tasks and their number, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from confluent_kafka import KafkaException, Producer

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.tail import Beginning, Tail
from forebay.kafka.topics import TopicSpec
from forebay.runtime.errors import StateConflict, Unavailable

MAX_BYTES = "max.message.bytes"
_SECONDS = 60.0
_TRANSACTION_MS = 900_000
_QUEUED = 100_000
_TOPIC = "topic"
_COUNTS = b"\x01counts"
_OVERHEAD = 256
"""Bytes that a record and its batch take in addition to key and value, rounded up."""

_LEAST_BYTES = 4 * 1024 * 1024
_CONFIG: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
}


class Record(NamedTuple):
    """A record of a new changelog; `timestamp` in ms."""

    topic: str
    partition: int
    key: bytes
    value: bytes | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class Staged:
    """The description of a staging topic's records.

    Args:
        records: number of records of each changelog, by partition.
        limits: largest record of each changelog, in bytes.
    """

    records: dict[str, list[int]]
    limits: dict[str, int]


def count_records(records: Iterable[Record], topics: Iterable[str], partitions: int) -> dict[str, list[int]]:
    """Return the number of records of each topic, by partition."""
    counts = {topic: [0] * partitions for topic in topics}
    for record in records:
        counts[record.topic][record.partition] += 1
    return counts


def check_sizes(records: Iterable[Record], limits: Mapping[str, int]) -> None:
    """Refuse records that are too large for their changelog. Raises StateConflict, which names the first one."""
    for record in records:
        size, limit = len(record.key) + len(record.value or b"") + _OVERHEAD, limits[record.topic]
        if size > limit:
            raise StateConflict(
                f"the row {record.key[:100]!r} of task {record.partition} takes {size} bytes in {record.topic}, which "
                f"takes {limit} ({MAX_BYTES}): nothing was changed. `kafka-configs --alter --entity-type topics "
                f"--entity-name {record.topic} --add-config {MAX_BYTES}={2 * size}`, then run the command again"
            )


class Staging:
    """One job's staging topic.

    Args:
        topics: the changelogs.
        partitions: number of partitions of each: the new number of tasks.
    """

    def __init__(self, kafka: KafkaSettings, name: str, topics: Sequence[str], partitions: int) -> None:
        self._kafka = kafka
        self._name = name
        self._topics = tuple(topics)
        self._partitions = partitions

    def write(self, records: Sequence[Record], limits: Mapping[str, int]) -> None:
        """Create the topic and write everything in one transaction. Raises StateConflict, Unavailable."""
        check_sizes(records, limits)
        said = Staged(count_records(records, self._topics, self._partitions), dict(limits))
        largest = max(_LEAST_BYTES, 2 * max(limits.values()))
        config = {**_CONFIG, MAX_BYTES: str(largest)}
        TopicAdmin(self._kafka).create([TopicSpec(self._name, self._partitions, config)])
        self.send(_with_counts(self._name, records, said), largest)

    def read(self) -> tuple[list[Record], Staged]:
        """Return all records, and their description.

        Raises:
            StateConflict: the number of records differs from the description. KafkaUnavailable, KafkaRefused.
        """
        records, said = [], None
        for message in _messages(self._kafka, self._name):
            record, name = _record(message)
            if name:
                records.append(record)
            else:
                said = Staged(**json.loads(record.value or b"{}"))
        if said is None:
            raise StateConflict(
                f"the topic {self._name} has no record with the number of its records, so another release wrote it: "
                "complete the change of the number of tasks with that release. Nothing was deleted"
            )
        self.compare(count_records(records, said.records, self._partitions), said, f"the topic {self._name}")
        return records, said

    def compare(self, found: Mapping[str, Sequence[int]], said: Staged, where: str) -> None:
        """Refuse to continue with other records than were staged. Raises StateConflict."""
        for topic, counts in said.records.items():
            for partition, count in enumerate(counts):
                if found[topic][partition] != count:
                    raise StateConflict(
                        f"{where} holds {found[topic][partition]} records of {topic}, partition {partition}, but "
                        f"{count} were written: the topic {self._name} is kept. Find out what deletes records "
                        "(retention, other clients), then run the command again"
                    )

    def published_counts(self) -> dict[str, list[int]]:
        """Return the number of records that the changelogs hold, by partition."""
        counts = {topic: [0] * self._partitions for topic in self._topics}
        for topic in self._topics:
            for message in _messages(self._kafka, topic):
                counts[topic][message.partition() or 0] += 1
        return counts

    def send(self, records: Iterable[tuple[str, Record]], largest: int) -> None:
        """Write records in one transaction, each to its paired topic; return once they are visible to readers.

        Args:
            largest: largest size of a record, in bytes.
        """
        producer = self._producer(largest)
        try:
            producer.init_transactions(_SECONDS)
            producer.begin_transaction()
            for topic, record in records:
                headers: dict[str, str | bytes | None] = {} if topic == record.topic else {_TOPIC: record.topic}
                producer.produce(
                    topic, record.value, record.key, record.partition, timestamp=record.timestamp, headers=headers
                )
                while len(producer) > _QUEUED:
                    producer.poll(0.05)
            producer.commit_transaction(_TRANSACTION_MS / 1000)
            # A commit is answered before its markers are written. Taking over the id waits for them.
            self._producer(largest).init_transactions(_SECONDS)
        except KafkaException as error:
            raise Unavailable(f"{self._name}: the rescaled state was not written: {error}") from error

    def _producer(self, largest: int) -> Producer:
        identity = {"transactional.id": self._name, "transaction.timeout.ms": _TRANSACTION_MS}
        return Producer(self._kafka.producer(**identity, **{"message.max.bytes": largest}))


def is_staged(kafka: KafkaSettings, name: str) -> bool:
    """Return whether a staging topic exists and its transaction was committed."""
    return bool(TopicAdmin(kafka).partitions([name])) and next(_messages(kafka, name), None) is not None


def _with_counts(name: str, records: Iterable[Record], said: Staged) -> Iterator[tuple[str, Record]]:
    for record in records:
        yield name, record
    yield name, Record("", 0, _COUNTS, json.dumps(asdict(said)).encode(), 0)


def _record(message: Any) -> tuple[Record, str]:
    name = dict(message.headers() or [])[_TOPIC].decode()
    at = message.timestamp()[1]
    return Record(name, message.partition(), message.key() or b"", message.value(), at), name


def _messages(kafka: KafkaSettings, topic: str) -> Iterator[Any]:
    with Tail(kafka, topic) as tail:
        yield from tail.read(Beginning(), follow=False)
