"""`forebay run` creates topics on the embedded platform with one partition per task, but none during a rescale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from forebay.catalog import COMPACTED, COMPACTION_LAG, Topic, all_services
from forebay.cli import topic_creation
from forebay.cli.topic_creation import create_input, create_missing
from forebay.kafka.errors import TopicsDiffer
from forebay.kafka.identities import rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.runtime.driver import prepare

SERVICES = all_services()

SETTINGS = KafkaSettings(bootstrap_servers="127.0.0.1:9", schema_registry_url="http://127.0.0.1:9")
SERVICE = SERVICES["user-sessions"]


class Broker:
    """The topics of a broker and their partition counts (a `TopicAdmin`)."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.topics = topics
        self.configs: dict[str, Mapping[str, str]] = {}

    def __call__(self, *_: Any) -> Broker:
        return self

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        return {name: self.topics[name] for name in names if name in self.topics}

    def create(self, specs: Iterable[TopicSpec]) -> Sequence[str]:
        asked = list(specs)
        different = [spec.name for spec in asked if self.topics.get(spec.name, spec.partitions) != spec.partitions]
        self.configs |= {spec.name: spec.config for spec in asked}
        self.topics |= {spec.name: spec.partitions for spec in asked if spec.name not in self.topics}
        if different:
            raise TopicsDiffer(different)
        return [spec.name for spec in asked]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker({})
    monkeypatch.setattr(topic_creation, "TopicAdmin", broker)
    monkeypatch.setattr(prepare, "TopicAdmin", broker)
    return broker


def test_all_topics_of_an_application_are_created(broker: Broker) -> None:
    result = create_missing(SETTINGS, SERVICE, "mine", 2)
    assert set(result) == {topic.name for topic in SERVICE.topics("mine", 2)}
    assert broker.topics["user_activity"] == 4
    assert broker.topics["mine-user-profiles-changelog"] == broker.topics["mine-0-task"] == 2
    assert create_missing(SETTINGS, SERVICE, "mine", 2) == ()


@pytest.mark.parametrize(("downtime_ms", "lag"), [(86_400_000, "86400000"), (10**9, "1000000000"), (0, "86400000")])
def test_compacted_inputs_keep_records_for_as_long_as_the_job_may_be_down(
    broker: Broker, downtime_ms: int, lag: str
) -> None:
    written_and_read = Topic("written-and-read", config=COMPACTED)
    service = replace(
        SERVICE,
        inputs=(*SERVICE.inputs, Topic("table", config=COMPACTED), written_and_read),
        outputs=(*SERVICE.outputs, written_and_read, Topic("written", config=COMPACTED)),
    )
    result = create_missing(SETTINGS, service, "mine", 2, downtime_ms)
    assert len(set(result)) == len(result)
    lags = {name: config.get(COMPACTION_LAG) for name, config in broker.configs.items()}
    assert {name: lags[name] for name in ("table", "written-and-read", "written", "user_activity")} == {
        "table": lag,
        "written-and-read": lag,
        "written": None,
        "user_activity": None,
    }


def test_an_existing_input_determines_the_number_of_tasks(broker: Broker) -> None:
    broker.topics["user_activity"] = 6
    result = create_missing(SETTINGS, SERVICE, "user-sessions", 0)
    assert "user_activity" not in result
    assert broker.topics["user-sessions-0-task"] == 6


def test_no_topic_is_created_during_a_rescale(broker: Broker) -> None:
    broker.topics[rescale_topic("mine")] = 2
    assert create_missing(SETTINGS, SERVICE, "mine", 0) == ()
    assert list(broker.topics) == [rescale_topic("mine")]


def test_a_producer_creates_only_its_topic(broker: Broker) -> None:
    create_input(SETTINGS, "price-join", "food_orders")
    create_input(SETTINGS, "no-service", "food_orders")
    assert broker.topics == {"food_orders": 4}
