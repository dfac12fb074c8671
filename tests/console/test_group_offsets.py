"""Committed offsets are read even while the group's coordinator moves, and for jobs whose tasks report no topics."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from forebay.codec import Unavailable
from forebay.console import groups
from forebay.console.groups import GroupOffsets
from forebay.kafka import committed_offsets
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver import broker_lag
from forebay.runtime.driver.broker_lag import BrokerLag, read_inputs

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:9", schema_registry_url="http://127.0.0.1:9")
COMMITTED = {"orders": 7, "prices": 0, "shop-orders-repartition": 3}


class Topic:
    partitions = (0,)


class FakeConsumer:
    """A consumer that raises the errors in `failures`, the last first, before it returns offsets."""

    failures: ClassVar[list[int]] = []
    is_closed = False

    def __init__(self, _options: Any) -> None:
        self.topics = dict.fromkeys([*COMMITTED, "others"], Topic())

    def list_topics(self, *_: object, **__: object) -> FakeConsumer:
        return self

    def answer(self, places: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        if self.failures:
            raise KafkaException(KafkaError(self.failures.pop()))
        return [TopicPartition(place.topic, 0, COMMITTED.get(place.topic, -1001)) for place in places]

    committed = answer

    def close(self) -> None:
        FakeConsumer.is_closed = True


@pytest.fixture(autouse=True)
def consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeConsumer, "failures", [])
    monkeypatch.setattr(groups, "Consumer", FakeConsumer)
    monkeypatch.setattr(committed_offsets, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(broker_lag, "Consumer", FakeConsumer)


@pytest.mark.parametrize("code", [KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_request_is_repeated_while_the_coordinator_is_not_ready(code: int) -> None:
    FakeConsumer.failures = [code] * 3
    (place,) = GroupOffsets(KAFKA).read("g", ["orders"])
    assert (place.topic, place.offset) == ("orders", 7)


def test_a_request_to_the_coordinator_is_repeated_for_some_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "SECONDS", 0.0)
    FakeConsumer.failures = [KafkaError.NOT_COORDINATOR] * 1_000_000
    with pytest.raises(Unavailable, match="the group g can't be read"):
        GroupOffsets(KAFKA).read("g", ["orders"])


def test_other_errors_are_raised_at_once() -> None:
    FakeConsumer.failures = [KafkaError.GROUP_AUTHORIZATION_FAILED]
    with pytest.raises(Unavailable, match="the group g can't be read"):
        GroupOffsets(KAFKA).read("g", ["orders"])
    assert not FakeConsumer.failures


def test_the_lag_of_a_job_is_read_then_too() -> None:
    FakeConsumer.failures = [KafkaError.NOT_COORDINATOR] * 3
    assert BrokerLag(KAFKA, "shop").read({("orders", 0): 7}) == {("orders", 0): 0}
    FakeConsumer.failures = [KafkaError.NOT_COORDINATOR] * 3
    assert read_inputs(KAFKA, "shop") == ["orders", "prices"]


def test_the_inputs_of_a_job_are_those_of_which_it_committed_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("shop-carts-repartition", "shop-1-task", "shop-carts-changelog")
    monkeypatch.setitem(COMMITTED, "shop-visits", 7)
    for topic in own:
        monkeypatch.setitem(COMMITTED, topic, 7)
    assert read_inputs(KAFKA, "shop") == ["orders", "prices", "shop-visits"], "an input may begin with the job's name"
    assert FakeConsumer.is_closed
