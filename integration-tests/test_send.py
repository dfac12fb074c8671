"""`forebay send` writes records in the topic's own format, and `forebay tail` shows them."""

from __future__ import annotations

import json

import pytest

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.platform import Platform

EVENT = {"event_id": "sent-1", "user_id": "u", "action": "click", "session_id": "s", "duration_ms": 5}


def test_a_record_that_is_sent_is_read_by_its_format(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    endpoints = platform.up()
    connection = [
        *("--bootstrap-servers", endpoints.bootstrap_servers),
        *("--schema-registry-url", endpoints.registry_url),
    ]
    settings = KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)
    (topic,) = find_service("user-sessions").inputs
    TopicAdmin(settings).create([spec_of(topic)])
    event = {**EVENT, "timestamp": 1_700_000_000_000}
    assert run(["send", topic.name, json.dumps(event), "--key", "sent", *connection]) == 0
    assert capsys.readouterr().out == f"{topic.name}: 1 record sent\n"
    assert run(["tail", topic.name, "--from", "beginning", "--no-follow", "--key", "sent", *connection]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["key"] == "sent"
    assert shown["value"].items() >= event.items()
