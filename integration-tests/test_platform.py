"""The real embedded platform keeps its data, and `up` recovers no matter how a process ended."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from own_topics import settings_of
from topic_reading import read_topic

from forebay.catalog import TIMESTAMPS
from forebay.cli.main import run
from forebay.platform import Endpoints, Platform

FAR_FUTURE_MS = 32_503_680_000_000


def register(endpoints: Endpoints, subject: str, name: str) -> int:
    schema = json.dumps({"type": "record", "name": name, "fields": [{"name": "x", "type": "long"}]})
    request = Request(
        f"{endpoints.registry_url}/subjects/{subject}/versions",
        json.dumps({"schema": schema}).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urlopen(request, timeout=10) as response:
        return int(json.load(response)["id"])


def create_topic(endpoints: Endpoints, config: dict[str, str] | None = None) -> str:
    topic = f"platform-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 2, 1, config=config or {})])[topic].result(30)
    return topic


def write(endpoints: Endpoints, topic: str, value: bytes, timestamp: int = 1) -> None:
    producer = Producer({"bootstrap.servers": endpoints.bootstrap_servers, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value, "key", timestamp=timestamp)
    producer.commit_transaction(30)


def read(endpoints: Endpoints, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": endpoints.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    messages = consumer.consume(count, timeout=30)
    consumer.close()
    return [bytes(message.value() or b"") for message in messages]


def test_up_is_idempotent(platform: Platform, endpoints: Endpoints) -> None:
    before = platform.status()
    assert before.running
    assert platform.up() == endpoints
    after = platform.status()
    assert [part.pid for part in after.components] == [part.pid for part in before.components]


def test_topics_are_not_auto_created(endpoints: Endpoints) -> None:
    admin = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers})
    name = f"never-{uuid.uuid4().hex}"
    admin.list_topics(name, timeout=10)
    assert name not in admin.list_topics(timeout=10).topics


@pytest.mark.parametrize("timestamp", [0, 1])
def test_any_earlier_event_time_is_accepted_and_kept(endpoints: Endpoints, timestamp: int) -> None:
    topic = create_topic(endpoints)
    write(endpoints, topic, b"odd", timestamp)
    assert read(endpoints, topic, 1) == [b"odd"]


@pytest.mark.parametrize("config", [{}, dict(TIMESTAMPS)], ids=["another's topic", "a topic that a job writes"])
def test_a_time_far_ahead_is_refused_as_by_any_broker_except_on_a_jobs_own_topics(
    endpoints: Endpoints, config: dict[str, str]
) -> None:
    topic = create_topic(endpoints, config)
    errors: list[int | None] = []
    producer = Producer({"bootstrap.servers": endpoints.bootstrap_servers})
    producer.produce(
        topic,
        b"ahead",
        "key",
        timestamp=FAR_FUTURE_MS,
        on_delivery=lambda error, _: errors.append(None if error is None else error.code()),
    )
    assert producer.flush(30) == 0
    assert errors == [None if config else KafkaError.INVALID_TIMESTAMP]


def test_records_and_schema_ids_survive_down_and_up(platform: Platform, endpoints: Endpoints) -> None:
    topic = create_topic(endpoints)
    write(endpoints, topic, b"kept")
    first = register(endpoints, f"{topic}-value", "First")
    platform.down()
    assert not platform.status().running
    assert platform.up() == endpoints
    assert read(endpoints, topic, 1) == [b"kept"]
    assert register(endpoints, f"{topic}-other", "Second") != first
    assert register(endpoints, f"{topic}-value", "First") == first


@pytest.mark.parametrize("part", ["broker", "registry"])
def test_up_repairs_a_crash(
    platform: Platform, endpoints: Endpoints, part: str, wait_until: Callable[..., None]
) -> None:
    topic = create_topic(endpoints)
    write(endpoints, topic, b"kept")
    first = register(endpoints, f"{topic}-value", "First")
    pid = {component.name: component.pid for component in platform.status().components}[part]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not platform.status().running, f"status sees that the {part} is gone")
    assert platform.up() == endpoints
    assert read(endpoints, topic, 1) == [b"kept"]
    assert register(endpoints, f"{topic}-other", "Second") > first


def test_schema_ids_are_not_reused_after_a_crash(platform: Platform, endpoints: Endpoints) -> None:
    subject = uuid.uuid4().hex
    first = register(endpoints, f"{subject}-first", "First")
    platform.registry.kill()
    platform.registry.start()
    assert register(endpoints, f"{subject}-second", f"Second{subject}") > first


@pytest.mark.parametrize("attempt", range(3))
def test_a_commit_just_before_a_crash_is_readable_after_it(
    platform: Platform, endpoints: Endpoints, attempt: int
) -> None:
    topic = create_topic(endpoints)
    write(endpoints, topic, b"committed")
    platform.broker.kill()
    platform.broker.start()
    assert read(endpoints, topic, 1) == [b"committed"], "its commit marker was lost"


def commit_until_the_broker_goes(endpoints: Endpoints, topic: str, answered: list[bytes]) -> None:
    """Commit records one by one until the broker ends, and record those whose commit was acknowledged."""
    producer = Producer({"bootstrap.servers": endpoints.bootstrap_servers, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for number in itertools.count():
        value = str(number).encode()
        try:
            producer.begin_transaction()
            producer.produce(topic, value, partition=0, timestamp=1)
            producer.commit_transaction(5)
        except KafkaException:
            return
        answered.append(value)


@pytest.mark.parametrize("attempt", range(3))
def test_records_committed_before_the_broker_stops_are_readable(
    platform: Platform, endpoints: Endpoints, attempt: int
) -> None:
    answered: dict[str, list[bytes]] = {create_topic(endpoints): [] for _ in range(6)}
    threads = [
        threading.Thread(target=commit_until_the_broker_goes, args=(endpoints, topic, values))
        for topic, values in answered.items()
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while min(map(len, answered.values())) < 30:
        assert time.monotonic() < deadline, answered
        time.sleep(0.05)
    platform.broker.restart()
    for thread in threads:
        thread.join(60)
    settings = settings_of(endpoints)
    for topic, values in answered.items():
        fencing = Producer({"bootstrap.servers": endpoints.bootstrap_servers, "transactional.id": topic})
        fencing.init_transactions(30)
        assert [message.value() for message in read_topic(settings, topic)[0]][: len(values)] == values


def test_the_broker_alone_stops_and_starts(platform: Platform, endpoints: Endpoints) -> None:
    topic = create_topic(endpoints)
    write(endpoints, topic, b"kept")
    platform.broker.stop()
    assert not platform.broker.answers()
    assert platform.registry.answers()
    platform.broker.start()
    assert read(endpoints, topic, 1) == [b"kept"]
    platform.registry.restart()
    assert platform.registry.answers()


def test_a_broken_data_directory_is_reported(platform: Platform, endpoints: Endpoints, capsys: Any) -> None:
    meta = platform.home / "broker" / "data" / "meta.properties"
    whole = meta.read_text(encoding="utf-8")
    platform.broker.stop()
    meta.write_text("version=99\n", encoding="utf-8")
    try:
        assert run(["up", "--home", str(platform.home)]) == 1
        assert "error: what the broker's last process left can't be recovered" in capsys.readouterr().err
        assert platform.registry.is_running()
    finally:
        meta.write_text(whole, encoding="utf-8")
    assert platform.up() == endpoints
    assert run(["status", "--home", str(platform.home)]) == 0
