"""Registration, rejections and schemas by id in a real registry, and the effect of its outage."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from dataclasses import replace

import pytest

from forebay.codec import DecodeError
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry import SchemaRegistry, subject_of
from forebay.kafka.registry_settings import Compatibility, SchemaIds
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints, Platform
from forebay.serde import AvroCodec, RegistryUnavailable, Schema, UnknownSchemaId, load_contract
from forebay.serde.framing import header
from user_sessions.model import Location, UserActivity

CONTRACT = load_contract("user-sessions", "UserActivity")
ACTIVITY = UserActivity("e1", "u1", "click", "s1", 5, 1_700_000_000_000, "/home", location=Location("NL", "Utrecht"))


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)


@pytest.fixture
def registry(settings: KafkaSettings) -> SchemaRegistry:
    return SchemaRegistry(settings.registry(), patience_s=0)


@pytest.fixture
def topic() -> str:
    return f"registry-{uuid.uuid4().hex[:8]}"


def changed_contract(drop: str = "", **added: object) -> Schema:
    """Return the contract without one of its fields, or with an additional one."""
    document = json.loads(CONTRACT.text)
    document["fields"] = [field for field in document["fields"] if field["name"] != drop]
    document["fields"] += [{"name": name, **field} for name, field in added.items()]  # type: ignore[dict-item]
    return Schema(json.dumps(document))


def test_registration_is_idempotent(registry: SchemaRegistry, settings: KafkaSettings, topic: str) -> None:
    first = register_contract(registry, "user-sessions", "UserActivity", topic)
    again = register_contract(SchemaRegistry(settings.registry()), "user-sessions", "UserActivity", topic)
    assert again == first
    assert registry.compatibility(subject_of(topic)) is Compatibility.BACKWARD


def test_compatible_version_is_registered(registry: SchemaRegistry, topic: str) -> None:
    first = registry.register(subject_of(topic), CONTRACT)
    newer = registry.register(subject_of(topic), changed_contract(colour={"type": ["null", "string"], "default": None}))
    assert newer.schema_id != first.schema_id
    assert registry.register(subject_of(topic), CONTRACT) == first


def test_an_incompatible_version_is_refused_with_the_reason(registry: SchemaRegistry, topic: str) -> None:
    registry.register(subject_of(topic), CONTRACT)
    with pytest.raises(RegistryRefused) as caught:
        registry.register(subject_of(topic), changed_contract(colour={"type": "string"}))
    message = str(caught.value)
    assert f"forebay.user_sessions.UserActivity is incompatible with what {topic}-value holds: Incompatible" in message
    assert "give new fields a default" in message


def test_a_schema_comes_back_as_it_was_written(registry: SchemaRegistry, settings: KafkaSettings, topic: str) -> None:
    registered = registry.register(subject_of(topic), CONTRACT)
    assert SchemaRegistry(settings.registry()).schema(registered.schema_id).canonical == CONTRACT.canonical


def test_an_unknown_id_is_a_decode_error(settings: KafkaSettings, registry: SchemaRegistry, topic: str) -> None:
    registered = registry.register(subject_of(topic), CONTRACT)
    codec = registry_codec(settings, "user-sessions", UserActivity, registered.schema_id)
    with pytest.raises(DecodeError, match="unknown schema id 2000000000"):
        codec.decode(header(2_000_000_000) + codec.encode(ACTIVITY)[5:])
    with pytest.raises(UnknownSchemaId):
        registry.schema(2_000_000_000)


def test_a_newer_writers_records_are_read_as_ours(
    settings: KafkaSettings, registry: SchemaRegistry, topic: str
) -> None:
    ours = registry.register(subject_of(topic), CONTRACT)
    theirs = registry.register(
        subject_of(topic), changed_contract(colour={"type": ["null", "string"], "default": None})
    )
    codec = registry_codec(settings, "user-sessions", UserActivity, ours.schema_id)
    body = codec.encode(ACTIVITY)[5:]
    no_colour = b"\0"
    assert codec.decode(header(theirs.schema_id) + body + no_colour) == ACTIVITY


def test_a_schema_of_another_subject_is_not_read(settings: KafkaSettings, registry: SchemaRegistry, topic: str) -> None:
    ours = registry.register(subject_of(topic), CONTRACT)
    newer = registry.register(subject_of(topic), changed_contract(colour={"type": ["null", "string"], "default": None}))
    foreign = registry.register(
        subject_of("other"), changed_contract(shape={"type": ["null", "string"], "default": None})
    )
    codec = registry_codec(settings, "user-sessions", UserActivity, ours.schema_id, topic)
    body = codec.encode(ACTIVITY)[5:] + b"\0"
    assert codec.decode(header(newer.schema_id) + body) == ACTIVITY
    with pytest.raises(DecodeError, match=f"id {foreign.schema_id} is not of the subject {topic}-value"):
        codec.decode(header(foreign.schema_id) + body)
    every = replace(settings, schema_registry_ids=SchemaIds.ANY)
    assert (
        registry_codec(every, "user-sessions", UserActivity, ours.schema_id, topic).decode(
            header(foreign.schema_id) + body
        )
        == ACTIVITY
    )


def test_unreachable_registry_raises_unavailable_and_recovers(
    platform: Platform, settings: KafkaSettings, topic: str
) -> None:
    theirs = SchemaRegistry(settings.registry()).register(
        subject_of(topic), changed_contract(colour={"type": "int", "default": 1})
    )
    ours = SchemaRegistry(settings.registry()).register(subject_of(topic), CONTRACT)
    impatient = AvroCodec(UserActivity, ours, SchemaRegistry(settings.registry(), patience_s=0))
    data = impatient.encode(ACTIVITY)
    written_by_them = header(theirs.schema_id) + data[5:] + b"\2"

    platform.registry.kill()
    with pytest.raises(RegistryUnavailable, match="is not reachable"):
        impatient.decode(written_by_them)
    assert impatient.decode(data) == ACTIVITY

    platform.registry.start()
    assert impatient.decode(written_by_them) == ACTIVITY


def test_a_patient_client_waits_for_the_registry(
    platform: Platform, settings: KafkaSettings, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "forebay.kafka")
    registered = SchemaRegistry(settings.registry()).register(subject_of(topic), CONTRACT)
    platform.registry.kill()
    starting = threading.Thread(target=platform.registry.start)
    starting.start()
    assert (
        SchemaRegistry(settings.registry(), patience_s=120).schema(registered.schema_id).canonical == CONTRACT.canonical
    )
    starting.join()
    lines = [record.getMessage() for record in caplog.records]
    first, *reminders, last = lines
    assert first.endswith("retrying")
    assert all(": still retrying after " in line for line in reminders)
    assert last.startswith("recovered after ")
