"""`forebay tail` shows committed records of real topics, decoded, from any offset, to the end or continuously."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints
from user_sessions.model import UserActivity


class Feed:
    """A topic with Avro records in one partition, and a function that reads it with the command."""

    def __init__(self, endpoints: Endpoints) -> None:
        self.settings = KafkaSettings(
            bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
        )
        self.topic = f"tail-{uuid.uuid4().hex[:8]}"
        TopicAdmin(self.settings).create([TopicSpec(self.topic, 1, {"retention.ms": "-1"})])
        registered = register_contract(
            shared_registry(self.settings.registry()), "user-sessions", "UserActivity", self.topic
        )
        self.codec = registry_codec(self.settings, "user-sessions", UserActivity, registered.schema_id)
        self.producer = Producer(self.settings.producer(**{"transactional.id": self.topic}))
        self.producer.init_transactions(30)

    def write(self, *pages: str, commit: bool = True) -> None:
        """Write a transaction with a record (key u<page>, time 1000 ms per character) for each page."""
        self.producer.begin_transaction()
        for page in pages:
            activity = UserActivity("e", "u", "click", "s", 5, 1000 * len(page), page)
            self.producer.produce(
                self.topic, self.codec.encode(activity), f"u{page}", timestamp=1000 * len(page), headers={"h": b"1"}
            )
        if commit:
            self.producer.commit_transaction(30)
        else:
            self.producer.flush(30)
            self.producer.abort_transaction(30)
        self._await_markers()

    def _await_markers(self) -> None:
        """Wait for the transaction's markers, which the coordinator writes after its response to the commit."""
        place = TopicPartition(self.topic, 0)
        ends: set[int] = set()
        deadline = time.monotonic() + 30
        while len(ends) != 1:
            assert time.monotonic() < deadline, f"the transaction stays open: {ends}"
            ends.clear()
            for isolation in ("read_uncommitted", "read_committed"):
                consumer = Consumer(self.settings.consumer(**{"group.id": "ends", "isolation.level": isolation}))
                ends.add(consumer.get_watermark_offsets(place, 10)[1])
                consumer.close()

    def arguments(self, *options: str) -> list[str]:
        connection = (
            "--bootstrap-servers",
            self.settings.bootstrap_servers,
            "--schema-registry-url",
            self.settings.schema_registry_url,
        )
        return ["tail", self.topic, *connection, *options]


@pytest.fixture
def feed(endpoints: Endpoints) -> Feed:
    return Feed(endpoints)


def lines(feed: Feed, capsys: pytest.CaptureFixture[str], *options: str) -> list[Any]:
    assert run(feed.arguments(*options)) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def pages(shown: list[Any]) -> list[str]:
    return [line["value"]["page"] for line in shown]


def test_only_committed_records_are_shown(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed.write("a", "bb")
    feed.write("lost", commit=False)
    feed.write("ccc")
    assert pages(lines(feed, capsys, "--no-follow")) == ["a", "bb", "ccc"]


def test_tail_starts_at_a_time_and_stops_after_a_count(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed.write("a", "bb", "ccc", "dddd")
    assert pages(lines(feed, capsys, "--no-follow", "--from", "2000")) == ["bb", "ccc", "dddd"]
    assert pages(lines(feed, capsys, "--from", "1970-01-01T00:00:03Z", "--count", "1")) == ["ccc"]
    assert pages(lines(feed, capsys, "--from", "beginning", "--count", "2")) == ["a", "bb"]
    assert lines(feed, capsys, "--no-follow", "--from", "end") == []
    assert lines(feed, capsys, "--no-follow", "--from", "2100-01-01") == []


def test_tail_filters_by_key_and_shows_headers(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed.write("a", "bb")
    (line,) = lines(feed, capsys, "--no-follow", "--key", "ubb", "--headers")
    assert (line["key"], line["timestamp"], line["headers"]) == ("ubb", 2000, {"h": "1"})


def test_an_empty_topic_ends_at_once(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(feed, capsys, "--no-follow") == []


def test_tail_suggests_similar_names_for_an_unknown_topic(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = feed.arguments()
    arguments[1] = feed.topic[:-1]
    assert run(arguments) == 1
    assert f"did you mean {feed.topic}" in capsys.readouterr().err


@pytest.fixture
def heed_interrupts() -> Iterator[None]:
    """Let processes handle SIGINT, which they ignore if the tests were started in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heed_interrupts")
def test_tail_follows_new_records_until_ctrl_c(feed: Feed) -> None:
    feed.write("a")
    command = [sys.executable, "-m", "forebay.cli.main", *feed.arguments("--from", "beginning")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["value"]["page"] == "a"
        feed.write("bb")
        assert json.loads(process.stdout.readline())["value"]["page"] == "bb"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == ""
