"""Before a job starts, it checks its topics: created ones pass, differences are reported or refused."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterator

import pytest
from own_topics import new_name, settings_of

from forebay.catalog import Service, Topic, all_services
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.brokers import describe_brokers
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topic_config import set_topic_config
from forebay.kafka.topics import spec_of
from forebay.platform import Endpoints
from forebay.runtime.driver.broker_check import BrokerUnfit, check_broker
from forebay.runtime.spec import needs_of

SERVICES = all_services()


@pytest.fixture
def service(endpoints: Endpoints) -> Iterator[Service]:
    """Yield a service with new topics, created as `forebay topics create` creates them."""
    name = new_name("checked")
    entry = dataclasses.replace(
        SERVICES["user-sessions"], name=name, inputs=(Topic(f"{name}-in"),), outputs=(Topic(f"{name}-out"),)
    )
    admin = TopicAdmin(settings_of(endpoints))
    admin.create(map(spec_of, entry.topics()))
    yield entry
    admin.delete(topic.name for topic in entry.topics())


def test_topics_created_on_the_embedded_broker_pass_the_check(
    endpoints: Endpoints, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check_broker(settings_of(endpoints), service, service.name, needs_of({}))
    assert caplog.messages == []


def test_the_embedded_broker_keeps_kafkas_limits_on_timestamps(endpoints: Endpoints) -> None:
    (config,) = describe_brokers(settings_of(endpoints), 30).configs.values()
    assert config["log.message.timestamp.after.max.ms"] == "3600000"
    assert config["log.message.timestamp.type"] == "CreateTime"


def until_reported(admin: TopicAdmin, topic: str, setting: str, value: str) -> None:
    """Wait until the broker returns a configuration that was set."""
    deadline = time.monotonic() + 30
    while admin.describe([topic])[topic].config[setting] != value:
        assert time.monotonic() < deadline, f"{topic} did not get {setting}={value} within 30 s"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("message.timestamp.type", "LogAppendTime"), ("cleanup.policy", "delete"), ("min.insync.replicas", "2")],
)
def test_changelog_with_unsuitable_configuration_stops_the_start(
    endpoints: Endpoints, service: Service, setting: str, value: str
) -> None:
    settings: KafkaSettings = settings_of(endpoints)
    changelog = f"{service.name}-user-profiles-changelog"
    set_topic_config(settings, changelog, setting, value)
    until_reported(TopicAdmin(settings), changelog, setting, value)
    with pytest.raises(BrokerUnfit, match=f"{changelog}: {setting}={value} .*--entity-name {changelog} --add-config"):
        check_broker(settings, service, service.name, needs_of({}))


def test_transaction_timeout_above_the_broker_limit_stops_the_start(endpoints: Endpoints, service: Service) -> None:
    with pytest.raises(BrokerUnfit, match="or use --transaction-timeout-ms 900000"):
        check_broker(settings_of(endpoints), service, service.name, needs_of({"transaction_timeout_ms": 900_001}))
