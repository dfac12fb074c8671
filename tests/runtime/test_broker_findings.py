"""Problems with topics and brokers are reported before a job starts, each in one line with the correction."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

import pytest

from forebay.catalog import all_services
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.brokers import Cluster
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription
from forebay.runtime.broker.broker_problems import Finding, Needs, broker_findings
from forebay.runtime.driver import broker_check
from forebay.runtime.driver.broker_check import BrokerUnfit, check_broker, judge
from forebay.runtime.driver.topic_problems import topic_findings
from forebay.runtime.spec import needs_of

SERVICES = all_services()

SERVICE = SERVICES["user-sessions"]
STORE, INTERNAL = "user-sessions-user-profiles-changelog", "user-sessions-0-task"
OUTPUT, ERRORS, LATE = "user_session_stats", "user-sessions.errors", "user-sessions.late"
NEEDS = Needs(transaction_timeout_ms=300_000, max_future_ms=3_600_000, max_record_bytes=1_000_000)
BROKER = {"transaction.max.timeout.ms": "900000", "offsets.retention.minutes": "10080"}
KAFKAS_DEFAULTS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "min.insync.replicas": "1",
}


def topics(copies: int = 1) -> dict[str, TopicDescription]:
    """Return the job's topics as `forebay topics create` creates them on a broker with Kafka's defaults."""
    return {
        topic.name: TopicDescription(
            topic.name, "id", topic.partitions, copies, {**KAFKAS_DEFAULTS, **topic.config}, frozenset()
        )
        for topic in SERVICE.topics()
    }


def changed_topics(name: str, **config: str) -> dict[str, TopicDescription]:
    """Return the topics with other settings of one topic. In names of settings, replace dots by _."""
    changed = topics()
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return {**changed, name: replace(changed[name], config={**changed[name].config, **settings})}


def found_in(described: dict[str, TopicDescription], brokers: int = 1) -> list[Finding]:
    return topic_findings(SERVICE, "user-sessions", described, NEEDS, brokers)


def test_topics_as_created_on_a_broker_with_kafkas_defaults_are_fine() -> None:
    assert found_in(topics()) == []
    assert broker_findings(Cluster({1: BROKER, 2: BROKER}), NEEDS) == []


@pytest.mark.parametrize(
    ("described", "message", "fatal"),
    [
        (
            changed_topics(STORE, cleanup_policy="delete"),
            f"{STORE}: cleanup.policy=delete lets rows of the state",
            True,
        ),
        (changed_topics(INTERNAL, cleanup_policy="compact,delete"), f"{INTERNAL}: cleanup.policy=compact,delete", True),
        (
            changed_topics(ERRORS, cleanup_policy="compact"),
            f"{ERRORS}: cleanup.policy=compact refuses records without",
            True,
        ),
        (
            changed_topics(STORE, message_timestamp_type="LogAppendTime"),
            f"{STORE}: .* replaces the timestamps of restored rows",
            True,
        ),
        (
            changed_topics(OUTPUT, message_timestamp_type="LogAppendTime"),
            f"{OUTPUT}: .* replaces the timestamps of results",
            False,
        ),
        (
            changed_topics(OUTPUT, message_timestamp_after_max_ms="60000"),
            f"{OUTPUT}: .*=60000 refuses timestamps that the job accepts",
            True,
        ),
        (
            changed_topics(STORE, message_timestamp_before_max_ms="1"),
            f"{STORE}: .*=1 refuses what comes of older",
            False,
        ),
        (
            changed_topics(STORE, max_message_bytes="1048588"),
            f"{STORE}: max.message.bytes=1048588 refuses large rows",
            False,
        ),
        (
            changed_topics(LATE, max_message_bytes="900000"),
            f"{LATE}: .* refuses large input records: .*=1052684`",
            False,
        ),
        (changed_topics(OUTPUT, max_message_bytes="900000"), f"{OUTPUT}: .* refuses large outputs: .*=1000000`", False),
        (
            changed_topics(STORE, min_insync_replicas="2"),
            f"{STORE}: min.insync.replicas=2 with one copy refuses every",
            True,
        ),
    ],
)
def test_a_topic_that_does_not_fit_is_named_with_the_command(
    described: dict[str, TopicDescription], message: str, fatal: bool
) -> None:
    (finding,) = found_in(described)
    assert finding.fatal is fatal
    assert re.match(message, finding.text), finding.text
    assert "`kafka-configs --alter --entity-type topics --entity-name " in finding.text
    assert "\n" not in finding.text


def test_topics_with_the_same_problem_are_reported_in_one_line() -> None:
    described = {
        name: replace(topic, config={**topic.config, "message.timestamp.type": "LogAppendTime"})
        for name, topic in topics().items()
    }
    lines = [finding.text for finding in found_in(described)]
    assert len(lines) == 2
    assert lines[0].startswith(f"{STORE}, {INTERNAL}: message.timestamp.type=LogAppendTime replaces the timestamps")
    assert lines[1].startswith(f"{OUTPUT}, {ERRORS}, {LATE}: ")
    assert all(line.endswith("(and so for each)") for line in lines)


def test_copies_are_compared_with_the_number_of_brokers() -> None:
    (alone,) = found_in(topics(copies=1), brokers=3)
    assert "one copy on a cluster of 3 brokers" in alone.text
    (unsafe,) = found_in(topics(copies=3), brokers=3)
    assert "min.insync.replicas=1 with 3 copies loses records if the only broker that has them fails" in unsafe.text
    assert not alone.fatal
    assert not unsafe.fatal


@pytest.mark.parametrize(
    ("config", "message", "fatal"),
    [
        ({"transaction.max.timeout.ms": "60000"}, "or use --transaction-timeout-ms 60000", True),
        ({"offsets.retention.minutes": "1440"}, "are lost while the job runs: set at least 10080", True),
        ({"offsets.retention.minutes": "2880"}, "are lost if it is stopped for 48 hours", False),
    ],
)
def test_an_unsuitable_broker_is_reported_once(config: dict[str, str], message: str, fatal: bool) -> None:
    (finding,) = broker_findings(Cluster({1: {**BROKER, **config}, 2: {**BROKER, **config}}), NEEDS)
    assert (message in finding.text, finding.fatal) == (True, fatal)


def test_fatal_findings_stop_the_start_and_others_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(BrokerUnfit, match="would lose state or stop processing here: a; b"),
    ):
        judge("app", [Finding("a", True), Finding("c", False), Finding("b", True)])
    assert caplog.messages == ["app: c"]


def test_without_the_right_to_see_configurations_the_start_continues(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forbidden(*_: object) -> None:
        raise KafkaForbidden("not authorized")

    monkeypatch.setattr(TopicAdmin, "describe", forbidden)
    monkeypatch.setattr(broker_check, "describe_brokers", forbidden)
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", schema_registry_url="http://127.0.0.1:1")
    with caplog.at_level(logging.WARNING):
        check_broker(kafka, SERVICE, "user-sessions", NEEDS)
    assert len(caplog.messages) == 2
    assert all(message.startswith("can't check whether the settings of ") for message in caplog.messages)


def test_the_requirements_depend_on_the_job_s_settings() -> None:
    assert needs_of({}) == replace(NEEDS, transaction_timeout_ms=60_000)
    assert needs_of({"transaction_timeout_ms": 5, "max_future_ms": 7}) == Needs(5, 7, 1_000_000)


def test_a_changelog_with_a_delete_retention_below_one_day_causes_a_warning() -> None:
    assert topics()[STORE].config["delete.retention.ms"] == "86400000"
    (finding,) = found_in(changed_topics(STORE, delete_retention_ms="3600000"))
    assert not finding.fatal
    assert f"{STORE}: delete.retention.ms=3600000 keeps deletes for less than a day" in finding.text
    assert f"--entity-name {STORE} --add-config delete.retention.ms=86400000" in finding.text
    assert found_in(changed_topics(STORE, delete_retention_ms="604800000")) == []
