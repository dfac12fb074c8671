"""user-sessions on the session's platform with topics of its own, and what must come out of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from job_process import JobProcess
from topic_reading import Decoder, MarkerWatch, UndecodableError, fold, parse, read_topic

from forebay.catalog import find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.platform import Platform
from forebay.serde import Schema, load_contract
from producers.base import Options
from producers.run import produce
from producers.send import Sent
from tests.user_sessions.replay import Output, Value, replay
from user_sessions.model import UserActivity

SERVICE = find_service("user-sessions")
INPUT, OUTPUT, ERRORS = "user_activity", "user_session_stats", "user-sessions.errors"
PARTITIONS = 4
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings a job runs with and its replay must know."""

    idle_timeout_ms: int = 1_800_000
    dedupe_retention_ms: int = 600_000

    def arguments(self) -> list[str]:
        """Give the options of `forebay run`."""
        return [
            *("--set", f"idle_timeout_ms={self.idle_timeout_ms}"),
            *("--dedupe-retention-ms", str(self.dedupe_retention_ms)),
        ]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a job must have made of its input: outputs and states by partition, and the unusable records."""

    outputs: dict[int, list[Output]]
    states: dict[int, dict[str, Value]]
    errors: dict[tuple[int, int], Message]


class Bench:
    """The service under an application id of its own; its topics are made anew."""

    def __init__(self, platform: Platform, application: str, folder: Path, rules: Rules | None = None) -> None:
        endpoints = platform.up()
        self.settings = KafkaSettings(
            bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
        )
        self.application = application
        self.rules = rules or Rules()
        self.checkpoint = folder / "checkpoint"
        self.decoder = Decoder(endpoints.registry_url)
        self._folder = folder
        self._jobs: list[JobProcess] = []
        topics = SERVICE.topics(application)
        admin = TopicAdmin(self.settings)
        admin.delete(topic.name for topic in topics)
        admin.create(spec_of(topic) for topic in topics)
        self._wait_for_leaders(INPUT)

    def produce(self, options: Options, should_stop: Callable[[], bool] = lambda: False) -> Sent:
        """Send synthetic events; they are with the broker after it."""
        registry = SchemaRegistry(self.settings.registry())
        contract = register_contract(registry, SERVICE.name, "UserActivity", INPUT)
        codec = registry_codec(self.settings, SERVICE.name, UserActivity, contract.schema_id)

        def register(subject: str, text: str) -> int:
            return registry.register(subject, Schema(text)).schema_id

        client = self.settings.producer()
        return produce(INPUT, options, client, codec, register, should_stop=should_stop)

    def send(self, *records: tuple[bytes | None, bytes | None, dict[str, Any]]) -> None:
        """Send records as they are: key, value, and further arguments of `produce`."""
        producer = Producer(self.settings.producer())
        for key, value, more in records:
            producer.produce(INPUT, value, key, **more)
        assert producer.flush(60) == 0

    def job(self, *arguments: str) -> JobProcess:
        """Start the job."""
        given = [
            SERVICE.name,
            *("--application", self.application, "--checkpoint", str(self.checkpoint), "--http-port", "0"),
            *("--bootstrap-servers", self.settings.bootstrap_servers),
            *("--schema-registry-url", self.settings.schema_registry_url),
            *self.rules.arguments(),
            *arguments,
        ]
        job = JobProcess(given, self._folder / "job.log", {"FOREBAY_HOME": str(self._folder)})
        self._jobs.append(job)
        return job

    def drain(self, *arguments: str) -> JobProcess:
        """Run the job over everything that waits."""
        job = self.job("--trigger", "available-now", *arguments)
        assert job.finish() == 0, job.text()
        return job

    def close(self) -> None:
        """Kill what still runs."""
        for job in self._jobs:
            job.kill()

    def markers(self) -> MarkerWatch:
        """Watch the job's markers."""
        return MarkerWatch(self.settings, self.application, INPUT, PARTITIONS)

    def waiting(self) -> int:
        """Give the number of records in the input topic."""
        return sum(map(len, read_topic(self.settings, INPUT).values()))

    def expected(self) -> Expected:
        """Replay the input topic."""
        reader = parse(load_contract(SERVICE.name, "UserActivity").text)
        latest = time.time_ns() // 1_000_000 + HOUR_MS
        expected = Expected({}, {}, {})
        for partition, messages in read_topic(self.settings, INPUT).items():
            records: list[tuple[str | None, Value | None, int]] = []
            for message in messages:
                event = self._event(message, reader, latest)
                if event is None:
                    expected.errors[partition, message.offset() or 0] = message
                else:
                    records.append(((message.key() or b"").decode(), event, event["timestamp"]))
            expected.outputs[partition], expected.states[partition] = replay(
                records, self.rules.idle_timeout_ms, dedupe_retention_ms=self.rules.dedupe_retention_ms
            )
        return expected

    def outputs(self) -> dict[int, list[Output]]:
        """Give the output topic, decoded."""
        return {
            partition: [
                ((m.key() or b"").decode(), self.decoder.decode(m.value() or b""), m.timestamp()[1]) for m in messages
            ]
            for partition, messages in read_topic(self.settings, OUTPUT).items()
        }

    def states(self) -> dict[int, dict[str, Value]]:
        """Give the states as the changelog topic tells them."""
        changelog = read_topic(self.settings, f"{self.application}-user-profiles-changelog")
        return {
            partition: {key.decode(): self.decoder.decode(value) for key, value in fold(messages).items()}
            for partition, messages in changelog.items()
        }

    def errors(self) -> list[Message]:
        """Give the errors topic."""
        return read_topic(self.settings, ERRORS)[0]

    def check(self) -> Expected:
        """Compare everything the job has written with the replay of everything it was sent."""
        expected, outputs = self.expected(), self.outputs()
        for partition, wanted in expected.outputs.items():
            found = outputs[partition]
            for index, (ours, theirs) in enumerate(zip(found, wanted, strict=False)):
                assert ours == theirs, f"output {index} of partition {partition} differs"
            assert len(found) == len(wanted), f"partition {partition} has another number of outputs"
        assert self.states() == expected.states
        self._check_errors(expected)
        return expected

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

    def _check_errors(self, expected: Expected) -> None:
        found = {}
        for message in self.errors():
            headers = dict(message.headers() or [])
            place = int(headers["error.partition"] or -1), int(headers["error.offset"] or -1)
            assert place not in found, f"the record at {place} is reported twice"
            found[place] = message
            original = expected.errors[place]
            assert (message.key(), message.value()) == (original.key(), original.value())
            assert (headers["error.topic"], headers["error.service"]) == (INPUT.encode(), SERVICE.name.encode())
            assert headers["error.stage"] == b"decode"
            assert headers["error.class"]
            assert headers["error.message"]
            assert headers["error.timestamp"] == str(original.timestamp()[1]).encode()
        assert found.keys() == expected.errors.keys()

    def _event(self, message: Message, reader: Any, latest: int) -> Value | None:
        key, value = message.key(), message.value()
        if key is None or value is None:
            return None
        try:
            event = self.decoder.decode(value, reader)
        except UndecodableError:
            return None
        return event if 0 <= event["timestamp"] <= latest else None
