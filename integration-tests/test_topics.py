"""Topics are created once on a real broker, compared with their declarations, described, and deleted."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

import pytest

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused, KafkaUnavailable, TopicMissing, TopicsDiffer
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Endpoints


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)


@pytest.fixture
def admin(settings: KafkaSettings) -> TopicAdmin:
    return TopicAdmin(settings)


@pytest.fixture
def name() -> str:
    return f"topics-{uuid.uuid4().hex[:8]}"


def test_topics_are_created_once(admin: TopicAdmin, name: str) -> None:
    spec = TopicSpec(name, 3, {"retention.ms": "-1", "max.message.bytes": "4194304"})
    assert admin.create([spec]) == (name,)
    assert admin.create([spec]) == ()
    topic = admin.describe([name])[name]
    assert (topic.partitions, topic.replication_factor) == (3, 1)
    assert {option: topic.config[option] for option in topic.own} == spec.config
    assert admin.differences([spec]) == ()


def test_explicit_default_is_not_a_difference(admin: TopicAdmin, name: str) -> None:
    admin.create([TopicSpec(name, 1)])
    assert admin.differences([TopicSpec(name, 1, {"cleanup.policy": "delete"})]) == ()


def test_differences_are_named_with_their_remedies_and_the_rest_is_created(admin: TopicAdmin, name: str) -> None:
    admin.create([TopicSpec(name, 1)])
    with pytest.raises(TopicsDiffer) as caught:
        admin.create([TopicSpec(name, 2, {"cleanup.policy": "compact"}), TopicSpec(f"{name}-other", 1)])
    message = str(caught.value)
    assert f"{name}: the number of partitions is 1, should be 2; " in message
    assert f"{name}: cleanup.policy is delete, should be compact; kafka-configs --alter" in message
    assert f"{name}-other" in admin.describe([f"{name}-other"])


def test_a_recreated_topic_has_another_id(admin: TopicAdmin, name: str) -> None:
    admin.create([TopicSpec(name, 1)])
    first = admin.topic_ids([name])
    assert admin.delete([name, "never-there"]) == (name,)
    assert admin.describe([name]) == {}
    admin.create([TopicSpec(name, 1)])
    assert admin.topic_ids([name]) != first


def test_missing_topic_error_names_the_create_command(admin: TopicAdmin, name: str) -> None:
    with pytest.raises(TopicMissing, match=f"has no topic {name}: `forebay topics create` creates it"):
        admin.topic_ids([name])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (TopicSpec("no such name", 1), "Invalid topic"),
        (TopicSpec("topics-bad-config", 1, {"retention.mss": "1"}), "Unknown topic config name: retention.mss"),
        (TopicSpec("topics-too-many-copies", 1, replication_factor=3), "only 1 broker"),
    ],
)
def test_topics_that_the_broker_does_not_create_are_refused_with_its_reason(
    admin: TopicAdmin, spec: TopicSpec, reason: str
) -> None:
    with pytest.raises(KafkaRefused, match=reason):
        admin.create([spec])


def test_unreachable_broker_raises_kafka_unavailable(settings: KafkaSettings) -> None:
    elsewhere = replace(settings, bootstrap_servers="127.0.0.1:1")
    with pytest.raises(KafkaUnavailable, match=r"127\.0\.0\.1:1"):
        TopicAdmin(elsewhere, timeout_s=1).describe(["any"])


def command(endpoints: Endpoints, *arguments: str) -> int:
    connection = ("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url)
    return run([*arguments, *connection])


def test_the_command_creates_and_describes_a_services_topics(
    endpoints: Endpoints, admin: TopicAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.delete(["user-sessions.late"])
    assert command(endpoints, "topics", "create", "user-sessions") == 0
    assert "user-sessions.late: created, 1 partition" in capsys.readouterr().out
    assert command(endpoints, "topics", "create") == 0
    assert "user-sessions.late: exists, 1 partition" in capsys.readouterr().out
    assert command(endpoints, "topics", "describe", "user-sessions") == 0
    described = capsys.readouterr().out
    # Another test of the same broker may have added partitions.
    assert re.search(r"user_activity: [48] partitions, 1 copy, id ", described)
    assert "user-sessions-user-profiles-changelog: 4 partitions" in described
    assert "should be" not in described


def test_unknown_service_error_lists_the_services(endpoints: Endpoints, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(endpoints, "topics", "create", "nonsense") == 2
    assert "user-sessions" in capsys.readouterr().err
