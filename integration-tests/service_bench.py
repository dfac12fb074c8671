"""A service with new topics on the session's platform, with its input and its results."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from job_process import JobProcess
from lease_changes import change_leases
from topic_reading import Decoder, MarkerWatch, PositionWatch, UndecodableError, fold, parse, read_topic

from forebay.catalog import find_service
from forebay.job import load_job
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.platform import Endpoints
from forebay.producing.base import Options
from forebay.producing.run import produce
from forebay.producing.send import Sent
from forebay.producing.sources import source_of
from forebay.runtime.changelog.topics import internal_topic
from forebay.serde import Schema, load_contract

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, and event time (ms) of an output."""
Output = tuple[str, Value, int]

PARTITIONS = 4
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Received:
    """The valid records of a topic by partition, and the invalid records by (partition, offset)."""

    records: dict[int, list[Record]] = field(default_factory=dict)
    unusable: dict[tuple[int, int], Message] = field(default_factory=dict)


class Brokers(Protocol):
    """Brokers and a registry, such as the embedded platform."""

    def up(self) -> Endpoints:
        """Start the parts that do not run, and return the endpoints."""


class ServiceBench:
    """A service with a new application id and new topics.

    Args:
        arguments: Arguments of each `forebay run`.
    """

    def __init__(
        self, platform: Brokers, service: str, application: str, folder: Path, arguments: tuple[str, ...] = ()
    ) -> None:
        endpoints = platform.up()
        self.service = find_service(service).as_application(application)
        self.settings = KafkaSettings(
            bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
        )
        self.application = application
        self.checkpoint = folder / f"{application}-checkpoint"
        self.environment = {"FOREBAY_HOME": str(folder)}
        self.decoder = Decoder(endpoints.registry_url)
        self._arguments = arguments
        self._folder = folder
        self._jobs: list[JobProcess] = []
        self._prepare_topics()

    @property
    def input(self) -> str:
        """The first input topic."""
        return self.service.inputs[0].name

    def produce(
        self, options: Options, should_stop: Callable[[], bool] = lambda: False, topic: str | None = None
    ) -> Sent:
        """Send synthetic events, and wait until the broker has stored them."""
        source = source_of(topic or self.input)
        registry = SchemaRegistry(self.settings.registry())
        contract = register_contract(registry, source.service, source.contract, source.topic)
        codec = registry_codec(self.settings, source.service, source.record_type, contract.schema_id)

        def register(subject: str, text: str) -> int:
            return registry.register(subject, Schema(text)).schema_id

        return produce(source.topic, options, self.settings.producer(), codec, register, should_stop=should_stop)

    def send(self, *records: tuple[bytes | None, bytes | None, dict[str, Any]]) -> None:
        """Send records to the first input unchanged: key, value, and further arguments of `produce`."""
        producer = Producer(self.settings.producer())
        for key, value, more in records:
            producer.produce(self.input, value, key, **more)
        assert producer.flush(60) == 0

    def job(
        self, *arguments: str, command: str = "run", log: str = "", start: Callable[..., JobProcess] = JobProcess
    ) -> JobProcess:
        """Start the job, or another command that runs it. `log` distinguishes its log from that of another driver."""
        given = [
            self.service.name,
            *("--application", self.application, "--checkpoint", str(self.checkpoint), "--http-port", "0"),
            *("--bootstrap-servers", self.settings.bootstrap_servers),
            *("--schema-registry-url", self.settings.schema_registry_url),
            *self._arguments,
            *arguments,
        ]
        job = start(given, self._folder / f"{self.application}{log}.log", self.environment, command)
        self._jobs.append(job)
        return job

    def drain(self, *arguments: str) -> JobProcess:
        """Run the job until it has processed all waiting records."""
        job = self.job("--trigger", "available-now", *arguments)
        assert job.finish() == 0, job.text()
        return job

    def lose_checkpoint(self) -> None:
        """Delete the checkpoint."""
        shutil.rmtree(self.checkpoint)

    def close(self) -> None:
        """Kill all running processes."""
        for job in self._jobs:
            job.kill()

    def markers(self) -> MarkerWatch:
        """Watch the job's markers."""
        return MarkerWatch(self.settings, self.application, self.input, PARTITIONS)

    def positions(self) -> PositionWatch:
        """Watch the positions of all tasks."""
        parts = range(self.service.stages)
        return PositionWatch(
            self.settings,
            [(internal_topic(self.application, part), task) for part in parts for task in range(PARTITIONS)],
        )

    def leases(self) -> int:
        """Return the number of completed leases."""
        batches = [int(file.name) for file in (self.checkpoint / "commits").glob("*") if file.name.isdecimal()]
        return max(batches, default=-1) + 1

    def change_leases(self, clock_shift_ms: int = 0) -> None:
        """End the running leases so that others follow, as the driver does when executors join.

        Args:
            clock_shift_ms: Time (ms) by which the job's clock is ahead.
        """
        change_leases(self.settings, self.application, self.input, clock_shift_ms)

    def snapshots(self) -> set[str]:
        """Return the names of all snapshots' manifests."""
        return {file.name for file in (self.checkpoint / "snapshots").rglob("*.manifest")}

    def marker_reader(self) -> Consumer:
        """Return a consumer for the job's markers. Close it after use."""
        return Consumer(self.settings.consumer(**{"group.id": f"{self.application}-marker"}))

    def unread(self, consumer: Consumer, seconds: float = 20.0) -> int:
        """Return the number of records between the job's markers and the ends of its inputs."""
        places = [TopicPartition(topic.name, number) for topic in self.service.inputs for number in range(PARTITIONS)]
        return sum(
            consumer.get_watermark_offsets(place, seconds)[1] - max(place.offset, 0)
            for place in consumer.committed(places, seconds)
        )

    def has_read_everything(self) -> bool:
        """Return whether the job's committed offsets are at the ends of its inputs."""
        consumer = self.marker_reader()
        try:
            return self.unread(consumer) == 0
        finally:
            consumer.close()

    def waiting(self) -> int:
        """Return the number of records in the first input topic."""
        return sum(map(len, read_topic(self.settings, self.input).values()))

    def read_input(self, topic: str | None = None) -> Received:
        """Return the records of an input topic, decoded as in a job."""
        name = topic or self.input
        (record,) = [known.record for known in self.service.inputs if known.name == name]
        reader = parse(load_contract(self.service.name, record).text)
        latest = time.time_ns() // 1_000_000 + HOUR_MS
        received = Received()
        for partition, messages in read_topic(self.settings, name).items():
            records = received.records.setdefault(partition, [])
            for message in messages:
                event = self._event(message, reader, latest)
                key = (message.key() or b"").decode()
                if event is not None:
                    records.append((key, event, event["timestamp"]))
                elif self._is_delete(message):
                    records.append((key, None, message.timestamp()[1]))
                else:
                    received.unusable[partition, message.offset() or 0] = message
        return received

    def outputs(self, topic: str | None = None) -> dict[int, list[Output]]:
        """Return the decoded records of an output topic by partition."""
        return {
            partition: [
                ((m.key() or b"").decode(), self.decoder.decode(m.value() or b""), m.timestamp()[1]) for m in messages
            ]
            for partition, messages in read_topic(self.settings, topic or self.service.output.name).items()
        }

    def changelog(self, store: str) -> dict[int, dict[bytes, Value]]:
        """Return the rows of a store by partition from its changelog. Versions with a null value are omitted."""
        changelog = read_topic(self.settings, f"{self.application}-{store}-changelog")
        return {
            partition: {key: self.decoder.decode(value) for key, value in fold(messages).items() if value}
            for partition, messages in changelog.items()
        }

    def changelog_partitions(self) -> set[int]:
        """Return the numbers of partitions of the changelogs. All must be equal to the number of state tasks."""
        names = [topic.name for topic in self.service.changelogs(self.application, 1)]
        return {topic.partitions for topic in TopicAdmin(self.settings).describe(names).values()}

    def errors(self) -> list[Message]:
        """Return the records of the `.errors` topic."""
        return read_topic(self.settings, self.service.errors.name)[0]

    def late(self) -> list[Message]:
        """Return the records of the `.late` topic."""
        return read_topic(self.settings, self.service.late.name)[0]

    def check_errors(self, unusable: dict[tuple[int, int], Message], topic: str | None = None) -> list[Message]:
        """Check that each undecodable record was sent to `.errors` once, unchanged. Return the other records."""
        results: dict[tuple[int, int], Message] = {}
        others = []
        for message in self.errors():
            headers = dict(message.headers() or [])
            assert headers["error.service"] == self.service.name.encode()
            assert headers["error.class"]
            assert headers["error.message"]
            if headers["error.stage"] != b"decode":
                others.append(message)
                continue
            place = int(headers["error.partition"] or -1), int(headers["error.offset"] or -1)
            assert place not in results, f"the record at {place} is reported twice"
            results[place] = message
            original = unusable[place]
            assert (message.key(), message.value()) == (original.key(), original.value())
            assert headers["error.topic"] == (topic or self.input).encode()
            assert headers["error.timestamp"] == str(original.timestamp()[1]).encode()
        missing = [
            (place, unusable[place].timestamp()[1], unusable[place].value())
            for place in unusable.keys() - results.keys()
        ]
        assert not missing, f"{len(missing)} of {len(unusable)} are not reported, such as {sorted(missing)[:9]}"
        return others

    def _is_delete(self, message: Message) -> bool:
        tables = load_job(self.service.job).tables
        return message.topic() in tables and message.key() is not None and message.value() is None

    def _prepare_topics(self) -> None:
        topics = self.service.topics(self.application)
        admin = TopicAdmin(self.settings)
        admin.delete(topic.name for topic in topics)
        admin.create(spec_of(topic) for topic in topics)
        for topic in self.service.inputs:
            self._wait_for_leaders(topic.name)

    def _wait_for_leaders(self, topic: str) -> None:
        consumer = Consumer(self.settings.consumer())
        deadline = time.monotonic() + 30
        for partition in range(PARTITIONS):
            while True:
                try:
                    consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)
                    break
                except KafkaException:
                    assert time.monotonic() < deadline, f"{topic}-{partition} has no leader"
        consumer.close()

    def _event(self, message: Message, reader: Any, latest: int) -> Value | None:
        key, value = message.key(), message.value()
        if key is None or value is None:
            return None
        try:
            event = self.decoder.decode(value, reader)
        except UndecodableError:
            return None
        return event if 0 <= event["timestamp"] <= latest else None
