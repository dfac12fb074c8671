"""A read determines its topics and partitions from brokers' lists, which are incomplete shortly after a restart."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection

from forebay.kafka.errors import KafkaUnavailable
from forebay.spark import broker as broker_module
from forebay.spark.broker import Broker
from forebay.spark.source_options import read_source_options

GIVEN = {"bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}


class Admin:
    """An admin client that lists the partitions of topics, or None for topics that do not exist."""

    def __init__(self, **topics: tuple[int, ...] | None) -> None:
        self._topics = topics

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(
            topics={
                name: SimpleNamespace(partitions=dict.fromkeys(partitions))
                for name, partitions in self._topics.items()
                if partitions is not None
            }
        )

    def describe_topics(self, asked: TopicCollection, request_timeout: float) -> dict[str, Future[Any]]:
        answers = {}
        for name in asked.topic_names:
            answers[name] = future = Future[Any]()
            partitions = self._topics.get(name)
            if partitions is None:
                future.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
            else:
                future.set_result(SimpleNamespace(partitions=[SimpleNamespace(id=number) for number in partitions]))
        return answers


def broker(monkeypatch: pytest.MonkeyPatch, admin: Admin, **options: str) -> Broker:
    monkeypatch.setattr(broker_module, "AdminClient", lambda _settings: admin)
    return Broker(read_source_options({**GIVEN, **options}))


def test_a_pattern_leaves_out_a_topic_that_is_being_created(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = broker(monkeypatch, Admin(a=(0, 1), b=(), c=(0,)), subscribePattern="[ab]")
    assert topics.partitions() == [("a", 0), ("a", 1)]


def test_a_topic_without_partitions_is_unavailable_if_nothing_else_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in ({"subscribePattern": "b"}, {"subscribe": "a,b"}):
        with pytest.raises(KafkaUnavailable, match="does not know the partitions of b yet"):
            broker(monkeypatch, Admin(a=(0, 1), b=()), **option).partitions()


def test_a_partition_is_deleted_if_its_topic_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = broker(monkeypatch, Admin(a=(0, 1), b=(), c=None), subscribePattern="[abc]")
    assert topics.find_deleted([("a", 0), ("a", 2), ("b", 0), ("c", 0)]) == [("a", 2), ("c", 0)]
