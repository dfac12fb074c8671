"""Reading of topics in tests. Records are decoded without the library's own serde."""

from __future__ import annotations

import functools
import io
import json
import time
from collections.abc import Iterable
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import urlopen

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from forebay.kafka.settings import KafkaSettings

POSITION = b"\x01position"
"""Key of a task's position in its internal changelog."""

Positions = dict[tuple[str, int], dict[str, Any]]
"""Latest positions of tasks, by topic and partition of their internal changelogs."""

Markers = dict[int, dict[str, Any]]
"""Latest committed offsets of a job's marker group, by input partition."""


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    """Return the headers of a consumed record with their actual type, because the client's annotation is wider."""
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])


def read_topic(settings: KafkaSettings, topic: str, **overrides: Any) -> dict[int, list[Message]]:
    """Return the committed records up to the topic's current end, or some beyond it, by partition, in order of offset.

    The end of a partition may never be reported if it is written all the time. A record after the initial end is
    therefore sufficient.
    """
    consumer = Consumer(settings.consumer(**{"group.id": "tests-reading", **overrides}))
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions]
    _wait_for_markers(settings, consumer, places)
    ends = {place.partition: _end(consumer, place) for place in places}
    consumer.assign(places)
    results: dict[int, list[Message]] = {number: [] for number in partitions}
    ended: set[int] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(5000, 1.0):
            partition, error = message.partition() or 0, message.error()
            if error is None:
                results[partition].append(message)
                if (message.offset() or 0) + 1 >= ends[partition]:
                    ended.add(partition)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
    consumer.close()
    return results


def _wait_for_markers(settings: KafkaSettings, consumer: Consumer, places: list[TopicPartition]) -> None:
    """Wait until committed records are readable, because a broker writes a transaction's markers after its response.

    A transaction that remains open for two seconds is considered intentionally open.
    """
    everything = Consumer(settings.consumer(**{"group.id": "tests-ends", "isolation.level": "read_uncommitted"}))
    ends = [_end(everything, place) for place in places]
    everything.close()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        if all(_end(consumer, place) >= end for place, end in zip(places, ends, strict=True)):
            break
        time.sleep(0.02)


def _end(consumer: Consumer, place: TopicPartition) -> int:
    """Return the end of a partition. Wait if a topic that was just recreated has no leader yet."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, 10)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def fold(messages: list[Message]) -> dict[bytes, bytes]:
    """Return the final rows of a compacted topic's partition."""
    rows: dict[bytes, bytes] = {}
    for message in messages:
        key, value = message.key() or b"", message.value()
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
    return rows


class MarkerWatch:
    """Reader of a job's markers, which fails if an offset decreases."""

    def __init__(self, settings: KafkaSettings, application: str, topic: str, partitions: int) -> None:
        self._consumer = Consumer(settings.consumer(**{"group.id": f"{application}-marker"}))
        self._places = [TopicPartition(topic, number) for number in range(partitions)]
        self.batches: dict[int, int] = {}

    def read(self) -> Markers:
        """Return the existing markers."""
        results = {
            p.partition: json.loads(p.metadata) for p in self._consumer.committed(self._places, 20) if p.metadata
        }
        for partition, marker in results.items():
            assert marker["n"] >= self.batches.get(partition, 0), f"the marker of partition {partition} went back"
            self.batches[partition] = marker["n"]
        return results

    def close(self) -> None:
        """Close the connection to the broker."""
        self._consumer.close()


class UndecodableError(Exception):
    """The bytes can't be decoded as a record of the expected schema."""


class PositionWatch:
    """Reader of the positions in a job's internal changelogs, which fails if a position decreases.

    Args:
        places: Topic and partition of each task's internal changelog.
    """

    def __init__(self, settings: KafkaSettings, places: Iterable[tuple[str, int]]) -> None:
        self._consumer = Consumer(settings.consumer(**{"group.id": "tests-positions"}))
        self._places = list(places)
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in self._places])
        self._positions: Positions = {}
        self._read: dict[tuple[str, int], int] = {}

    def read(self) -> Positions:
        """Return the newest committed position of each task that has one, by its changelog's topic and partition.

        The newest position is that at the time of the call, because a job may commit all the time.
        """
        ends = {place: self._end(*place) for place in self._existing()}
        while any(self._read.get(place, -1) + 1 < end for place, end in ends.items()):
            if not (messages := self._consumer.consume(5_000, 0.05)):
                break
            for message in messages:
                if message.error() is None and self._is_new(message) and message.key() == POSITION:
                    self._take((message.topic() or "", message.partition() or 0), json.loads(message.value() or b""))
        return self._positions

    def commits(self) -> int:
        """Return the number of commits of all tasks together."""
        return sum(position["n"] for position in self.read().values())

    def used_offsets(self, topics: Iterable[str]) -> int:
        """Return the number of used offsets of these topics."""
        wanted = set(topics)
        ends = (end for position in self.read().values() for end in position["ends"])
        return sum(int(end) for topic, _, end in ends if topic in wanted)

    def close(self) -> None:
        """Close the connection to the broker."""
        self._consumer.close()

    def _existing(self) -> list[tuple[str, int]]:
        """Return the places whose topics exist, or an empty list if the broker is unreachable.

        For a topic that does not exist, the client would wait a second. By then, the job would be far ahead.
        """
        if len(self._read) == len(self._places):
            return self._places
        try:
            topics = self._consumer.list_topics(timeout=1.0).topics
        except KafkaException:
            return []
        return [(topic, partition) for topic, partition in self._places if topic in topics]

    def _end(self, topic: str, partition: int) -> int:
        """Return the end offset of a changelog, or 0 if it has no leader or the broker is unreachable."""
        try:
            return int(self._consumer.get_watermark_offsets(TopicPartition(topic, partition), 1)[1])
        except KafkaException:
            return 0

    def _is_new(self, message: Message) -> bool:
        # The client may return a record twice after a broker's restart, which changes the leader's epoch.
        place, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
        is_new = offset > self._read.get(place, -1)
        self._read[place] = max(offset, self._read.get(place, -1))
        return is_new

    def _take(self, place: tuple[str, int], position: dict[str, Any]) -> None:
        before = self._positions.get(place)
        if before is not None:
            assert position["n"] == before["n"] + 1, f"{place}: commit {position['n']} came after {before['n']}"
            ends = {(topic, partition): end for topic, partition, end in before["ends"]}
            for topic, partition, end in position["ends"]:
                assert end >= ends.get((topic, partition), 0), f"{place}: {topic}-{partition} went back to {end}"
        self._positions[place] = position


class Decoder:
    """Decodes framed Avro with the registry's schemas."""

    def __init__(self, registry_url: str) -> None:
        self._url = registry_url
        self.schema = functools.cache(self._schema)

    def decode(self, data: bytes, reader: Any = None) -> dict[str, Any]:
        """Return the record, resolved to the schema `reader`. Raises UndecodableError."""
        if data[:1] != b"\0":
            raise UndecodableError("wrong magic")
        schema = self.schema(int.from_bytes(data[1:5], "big"))
        body = io.BytesIO(data[5:])
        try:
            record: Any = fastavro.schemaless_reader(body, schema, reader)
        except Exception as error:
            raise UndecodableError(str(error)) from error
        if body.read():
            raise UndecodableError("bytes are left")
        return dict(record)

    def _schema(self, schema_id: int) -> Any:
        try:
            with urlopen(f"{self._url}/schemas/ids/{schema_id}", timeout=10) as response:
                text = json.load(response)["schema"]
        except HTTPError as error:
            raise UndecodableError(f"unknown schema id {schema_id}") from error
        return parse(text)


def parse(text: str) -> Any:
    """Return a schema in the form that fastavro expects."""
    return fastavro.parse_schema(json.loads(text), named_schemas={})
