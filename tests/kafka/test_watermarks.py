"""Look-ups of a partition's first and end offset are repeated until its leader is ready, as after its creation."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from forebay.kafka import partition_ends
from forebay.kafka.partition_ends import watermarks

PLACE = TopicPartition("t", 0)


class Client:
    """A consumer whose look-ups raise these errors in turn."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)
        self.refreshed = 0

    def get_watermark_offsets(self, _place: TopicPartition, _seconds: float) -> tuple[int, int]:
        if self._codes:
            raise KafkaException(KafkaError(self._codes.pop(0)))
        return 3, 7

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        assert [place.offset for place in asked] == [OFFSET_BEGINNING]
        return [TopicPartition(place.topic, place.partition, 3) for place in asked]

    def list_topics(self, topic: str, _seconds: float) -> None:
        assert topic == "t"
        self.refreshed += 1


class DeletedInOpenTransaction(Client):
    """A consumer of a partition whose records 0 to 11 were deleted while their transaction was open.

    The last stable offset is still 0. The client returns the smaller of its two answers as the first offset.
    """

    def get_watermark_offsets(self, _place: TopicPartition, _seconds: float) -> tuple[int, int]:
        return 0, 12

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition(place.topic, place.partition, 12) for place in asked]


def test_the_first_offset_is_not_a_stable_offset_before_it() -> None:
    client: Any = DeletedInOpenTransaction()
    assert watermarks(client, PLACE) == (12, 12)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
    ],
)
def test_leaders_are_looked_up_until_one_is_ready(code: int) -> None:
    client: Any = Client(code, code, code)
    assert watermarks(client, PLACE) == (3, 7)
    assert client.refreshed == 3


def test_an_absent_partition_is_looked_up_once() -> None:
    client: Any = Client(KafkaError.UNKNOWN_TOPIC_OR_PART)
    assert watermarks(client, PLACE) == (3, 7)
    client = Client(KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_OR_PART)
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        watermarks(client, PLACE)
    assert client.refreshed == 1


def test_leaders_are_looked_up_for_the_next_request_if_one_is_not_answered() -> None:
    client: Any = Client(KafkaError._TIMED_OUT)
    with pytest.raises(KafkaException):
        watermarks(client, PLACE)
    assert client.refreshed == 1


def test_other_errors_are_raised_at_once() -> None:
    client: Any = Client(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        watermarks(client, PLACE)
    assert client.refreshed == 0


def test_a_leader_that_stays_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_ends, "_PATIENCE_SECONDS", 0.0)
    client: Any = Client(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_LEADER_FOR_PARTITION)
    with pytest.raises(KafkaException, match="NOT_LEADER"):
        watermarks(client, PLACE)
