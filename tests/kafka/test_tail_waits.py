"""A tail with a time limit fails if no new record arrives within it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_END, TopicPartition

from forebay.kafka.settings import KafkaSettings
from forebay.kafka.tail import Beginning, End, NothingCame, Tail


class Silent:
    """A consumer of a topic without records."""

    def __init__(self, _settings: dict[str, Any]) -> None:
        self.assigned: list[TopicPartition] = []

    def list_topics(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(topics={"results": SimpleNamespace(partitions={0: None, 1: None})})

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = places

    def consume(self, _count: int, _seconds: float) -> list[Any]:
        return []

    def close(self) -> None: ...


def record(partition: int, offset: int) -> Any:
    """Return a record as a message of the client."""
    return SimpleNamespace(error=lambda: None, partition=lambda: partition, offset=lambda: offset)


class OneRecord(Silent):
    """A consumer of a topic with one record."""

    def consume(self, _count: int, _seconds: float) -> list[Any]:
        return [record(0, 0)]


class Busy(Silent):
    """A consumer of a topic that grows all the time. The client returns one record twice."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self._offsets = iter([0, 1, 1, *range(2, 1_000)])

    def get_watermark_offsets(self, _place: TopicPartition, _seconds: float) -> tuple[int, int]:
        return 0, 3

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition(place.topic, place.partition, 0) for place in asked]

    def consume(self, _count: int, _seconds: float) -> list[Any]:
        offset = next(self._offsets)
        return [record(0, offset), record(1, offset)]


def tail(monkeypatch: pytest.MonkeyPatch, consumer: type[Silent]) -> Tail:
    monkeypatch.setattr("forebay.kafka.tail.Consumer", consumer)
    return Tail(KafkaSettings(bootstrap_servers="here:1", schema_registry_url="http://here"), "results")


def test_a_tail_fails_if_no_record_arrives_and_names_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    records = tail(monkeypatch, Silent)
    with pytest.raises(NothingCame, match=r"within 0\.02 s too few records were committed to results at here:1"):
        next(records.read(End(), follow=True, seconds=0.02))
    consumer = cast(Silent, records._consumer)
    assert {place.offset for place in consumer.assigned} == {OFFSET_END}


def test_a_record_in_time_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(tail(monkeypatch, OneRecord).read(End(), follow=True, seconds=60)).error() is None


def test_reading_to_the_current_end_terminates_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(m.partition(), m.offset()) for m in tail(monkeypatch, Busy).read(Beginning(), follow=False)]
    assert rows == [(partition, offset) for offset in range(3) for partition in range(2)]
