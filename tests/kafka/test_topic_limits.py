"""A topic's record limits are read from its configuration. If they can't be read, Forebay's defaults apply."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from forebay.catalog import find_service
from forebay.kafka import topic_limits
from forebay.kafka.errors import KafkaForbidden, KafkaUnavailable
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topic_limits import batch_limit, read_topic_limits
from forebay.kafka.topics import TopicDescription
from forebay.limits.tasks import task_limits
from forebay.limits.topics import UNLIMITED, TopicLimits

KAFKA_4 = {
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": str(UNLIMITED),
}


def settings(**options: str) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers="b:1", schema_registry_url="http://r:1", kafka=options)


class Admin:
    """An admin client of a broker with the topics in `answer`, or of one that fails."""

    answer: ClassVar[dict[str, dict[str, str]] | Exception] = {}

    def __init__(self, *_: Any) -> None:
        pass

    def describe(self, names: Any) -> dict[str, TopicDescription]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return {
            name: TopicDescription(name, "id", 1, 1, self.answer[name], frozenset())
            for name in names
            if name in self.answer
        }


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> type[Admin]:
    monkeypatch.setattr(topic_limits, "TopicAdmin", Admin)
    return Admin


def test_a_topic_with_kafka_s_defaults_has_kafka_s_limits(admin: type[Admin]) -> None:
    admin.answer = {"out": KAFKA_4}
    assert read_topic_limits(settings(), ["out", "gone"]) == {
        "out": TopicLimits("out", 1_048_588, 3_600_000, UNLIMITED, 1, partitions=1)
    }


def test_the_brokers_time_has_no_limits(admin: type[Admin]) -> None:
    admin.answer = {"out": {**KAFKA_4, "message.timestamp.type": "LogAppendTime"}}
    assert read_topic_limits(settings(), ["out"]) == {"out": TopicLimits("out", 1_048_588, partitions=1)}


def test_a_smaller_limit_of_the_producer_takes_precedence(admin: type[Admin]) -> None:
    admin.answer = {"out": {**KAFKA_4, "max.message.bytes": "99000000"}}
    assert read_topic_limits(settings(), ["out"])["out"].max_bytes == 4 * 1024 * 1024
    smaller = settings(**{"message.max.bytes": "500000"})
    assert read_topic_limits(smaller, ["out"])["out"].max_bytes == 500_000


def test_without_the_right_to_see_configurations_topics_are_as_created(admin: type[Admin]) -> None:
    admin.answer = KafkaForbidden("no")
    known = read_topic_limits(settings(), ["out"])
    limits = task_limits(find_service("menu-votes"), "app", 1, known)
    assert known == {}
    assert (limits.internal.topic, limits.internal.max_bytes) == ("app-1-task", 2_097_152)
    assert (limits.store("regions").topic, limits.errors.max_bytes) == ("app-regions-changelog", 4_194_304)
    assert limits.output("vote_counts").max_bytes == 2_097_152


def test_an_outage_is_raised(admin: type[Admin]) -> None:
    admin.answer = KafkaUnavailable("gone")
    with pytest.raises(KafkaUnavailable):
        read_topic_limits(settings(), ["out"])


def test_the_broker_s_limits_take_precedence() -> None:
    known = {"app-0-task": TopicLimits("app-0-task", 7), "food_bills": TopicLimits("food_bills", 8)}
    limits = task_limits(find_service("price-join"), "app", 0, known)
    assert (limits.internal.max_bytes, limits.output("food_bills").max_bytes) == (7, 8)


def test_a_producers_batches_are_as_small_as_the_smallest_topic_takes() -> None:
    small, large = TopicLimits("small", 20_000), TopicLimits("large", 4_000_000)
    assert batch_limit(settings(), {"small": small, "large": large}) == {"batch.size": 20_000}
    assert batch_limit(settings(), {"large": large}) == batch_limit(settings(), {}) == {}
    assert batch_limit(settings(**{"batch.size": "10000"}), {"small": small}) == {}
