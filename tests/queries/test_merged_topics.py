"""Several topics are followed at once in the order of timestamps, up to the point to which all have been read."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from forebay.codec import Unavailable
from forebay.kafka.settings import KafkaSettings
from forebay.queries import merged_topics
from forebay.queries.merged_topics import MergedTopics


class Polled:
    """A message of a consumer, which is a record or the end of a partition."""

    def __init__(self, topic: str, offset: int, timestamp: int, code: int | None = None) -> None:
        self._topic, self._offset, self._timestamp, self._code = topic, offset, timestamp, code

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp

    def error(self) -> KafkaError | None:
        return None if self._code is None else KafkaError(self._code, "", True)


def end(topic: str) -> Polled:
    return Polled(topic, 0, 0, KafkaError._PARTITION_EOF)


class Metadata:
    def __init__(self, error: object) -> None:
        self.error, self.partitions = error, {0: None}


class FakeConsumer:
    """A consumer that returns the batches of the test."""

    def __init__(self, *batches: list[Polled], unknown: str = "") -> None:
        self.batches, self.unknown = list(batches), unknown
        self.options: dict[str, Any] = {}
        self.assigned: list[TopicPartition] = []
        self.paused: list[str] = []
        self.is_closed = False

    def __call__(self, options: dict[str, Any]) -> FakeConsumer:
        self.options = options
        return self

    def list_topics(self, topic: str, _seconds: float) -> Any:
        self.topics = {topic: Metadata("unknown topic" if topic == self.unknown else None)}
        return self

    def get_watermark_offsets(self, _place: TopicPartition, _seconds: float) -> tuple[int, int]:
        return 0, 42

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition(place.topic, place.partition, 0) for place in asked]

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = places

    def consume(self, _number: int, _seconds: float) -> list[Polled]:
        return self.batches.pop(0) if self.batches else []

    def pause(self, places: list[TopicPartition]) -> None:
        self.paused += [place.topic for place in places]

    def resume(self, places: list[TopicPartition]) -> None:
        self.paused = [topic for topic in self.paused if topic not in {place.topic for place in places}]

    def close(self) -> None:
        self.is_closed = True


def follow(monkeypatch: pytest.MonkeyPatch, consumer: FakeConsumer, *, from_beginning: bool = True) -> MergedTopics:
    monkeypatch.setattr(merged_topics, "Consumer", consumer)
    kafka = KafkaSettings(bootstrap_servers="localhost:1", schema_registry_url="http://localhost:2")
    return MergedTopics(kafka, ("a", "b"), from_beginning)


def offsets_of(batch: Any) -> list[tuple[str, int]] | None:
    return None if batch is None else [(record.topic(), record.offset()) for record in batch]


def test_records_are_merged_by_timestamp_after_waiting_for_unread_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = [Polled("a", 0, 10), Polled("a", 1, 30)]
    topics = iter(follow(monkeypatch, FakeConsumer(first, [Polled("b", 0, 20), end("b")], [end("a")])))
    # Records of A wait until B has been read. Once B is read to its end, they no longer wait.
    assert offsets_of(next(topics)) == [("a", 0), ("b", 0), ("a", 1)]
    assert offsets_of(next(topics)) is None


def test_a_partition_that_got_records_again_is_read_to_its_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = FakeConsumer(
        [end("a"), end("b")], [Polled("b", 0, 5)], [Polled("a", 0, 9)], [end("b")], [end("a"), Polled("b", 1, 7)]
    )
    topics = iter(follow(monkeypatch, consumer))
    assert [offsets_of(next(topics)) for _ in range(3)] == [[("b", 0)], [("a", 0)], [("b", 1)]]


def test_a_record_that_is_delivered_twice_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = iter(follow(monkeypatch, FakeConsumer([Polled("a", 0, 1), Polled("a", 0, 1), end("a"), end("b")])))
    assert offsets_of(next(topics)) == [("a", 0)]


def test_a_partition_far_ahead_is_paused_until_others_catch_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_topics, "_MOST_WAITING", 2)
    ahead = [Polled("a", offset, offset) for offset in range(3)]
    consumer = FakeConsumer(ahead, [Polled("b", 0, 0)])
    topics = iter(follow(monkeypatch, consumer))
    batch = next(topics)
    assert offsets_of(batch) == [("a", 0), ("b", 0)]
    assert consumer.paused == ["a"]
    consumer.batches.append([end("b")])
    assert offsets_of(next(topics)) == [("a", 1), ("a", 2)]
    assert consumer.paused == []


@pytest.mark.parametrize(("from_beginning", "offset"), [(True, OFFSET_BEGINNING), (False, 42)])
def test_only_committed_records_are_read_from_the_requested_offset(
    monkeypatch: pytest.MonkeyPatch, from_beginning: bool, offset: int
) -> None:
    consumer = FakeConsumer()
    topics = follow(monkeypatch, consumer, from_beginning=from_beginning)
    assert [place.offset for place in consumer.assigned] == [offset, offset]
    assert consumer.options["isolation.level"] == "read_committed"
    topics.close()
    assert consumer.is_closed


def test_a_topic_that_does_not_exist_is_reported_and_the_consumer_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = FakeConsumer(unknown="b")
    with pytest.raises(Unavailable, match="a, b can't be followed: unknown topic"):
        follow(monkeypatch, consumer)
    assert consumer.is_closed


@pytest.mark.parametrize("code", [KafkaError._AUTO_OFFSET_RESET, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_a_topic_that_can_not_be_followed_any_more_ends_the_answer(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    topics = iter(follow(monkeypatch, FakeConsumer([end("a"), end("b")], [Polled("a", 0, 0, code)])))
    with pytest.raises(Unavailable, match="a-0 can't be followed any more"):
        next(topics)
