"""A job reads the topics that match its pattern when it starts. After a restart it also reads newer ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import PYTHON_PATH, JobProcess
from own_topics import settings_of
from topic_reading import read_topic

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints

SERVICE, OUT = "pattern-counts", "pattern-counts-out"
MODULE = r'''
import re
from dataclasses import dataclass

from forebay.builder import Topology, job
from forebay.catalog import Service, Topic

PATTERN = r"pattern-orders-\w+"


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


def build(_):
    topology = Topology()
    counts = topology.stream(re.compile(PATTERN), str).group_by_key().count(store="pattern-counts")
    counts.to_stream().map_values(lambda _, n: str(n), str).to("pattern-counts-out")
    return topology


JOB = job(Settings, build)
SERVICE = Service(
    name="pattern-counts",
    summary="records by key of all topics of orders",
    inputs=(),
    outputs=(Topic("pattern-counts-out", partitions=1),),
    stores={"pattern-counts": ""},
    job="pattern_service",
    patterns={PATTERN: ""},
)
'''


@pytest.fixture
def command(endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    (tmp_path / "pattern_service.py").write_text(MODULE)
    monkeypatch.setenv("FOREBAY_SERVICES", "pattern_service")
    monkeypatch.syspath_prepend(str(tmp_path))
    given = [
        *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
        *("--home", str(tmp_path / "home"), "--tasks", "2"),
    ]
    assert run(["topics", "create", SERVICE, *given]) == 0
    yield [SERVICE, *given, "--trigger", "available-now"]
    sys.modules.pop("pattern_service")


def order(settings: KafkaSettings, topic: str, *keys: str) -> None:
    TopicAdmin(settings).create([TopicSpec(topic, 2)])
    producer = Producer(settings.producer(partitioner="murmur2_random"))
    for at, key in enumerate(keys):
        producer.produce(topic, b"tea", key, timestamp=at + 1)
    assert producer.flush(30) == 0


def test_matching_topics_are_read_and_later_ones_at_the_next_start(
    endpoints: Endpoints, command: list[str], tmp_path: Path
) -> None:
    settings = settings_of(endpoints)
    order(settings, "pattern-orders-eu", "anna", "bob")
    order(settings, "pattern-orders-us", "anna")
    order(settings, "pattern-others", "anna")
    environment = {"FOREBAY_SERVICES": "pattern_service", "PYTHONPATH": os.pathsep.join([str(tmp_path), PYTHON_PATH])}

    def counts(log: str) -> dict[bytes | None, list[bytes | None]]:
        job = JobProcess(command, tmp_path / log, environment)
        assert job.finish() == 0, job.text()
        sent = [record for records in read_topic(settings, OUT).values() for record in records]
        return {key: [record.value() for record in sent if record.key() == key] for key in (b"anna", b"bob")}

    assert counts("first.log") == {b"anna": [b"1", b"2"], b"bob": [b"1"]}
    order(settings, "pattern-orders-asia", "bob")
    assert counts("second.log") == {b"anna": [b"1", b"2"], b"bob": [b"1", b"2"]}
