"""First offset and end of a partition: one retry if leaders changed, as just after a topic was created."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from forebay.kafka.ends import watermarks

PLACE = TopicPartition("t", 0)


class Client:
    """A consumer that raises these errors, one at each question."""

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
    """A consumer of a partition of which records 0 to 11 were deleted while their transaction was open.

    The last stable offset is 0 still. The client returns the smaller of its two answers as the first offset.
    """

    def get_watermark_offsets(self, _place: TopicPartition, _seconds: float) -> tuple[int, int]:
        return 0, 12

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition(place.topic, place.partition, 12) for place in asked]


def test_the_first_offset_is_not_a_stable_offset_before_it() -> None:
    client: Any = DeletedInOpenTransaction()
    assert watermarks(client, PLACE) == (12, 12)


def test_changed_leaders_are_looked_up_once() -> None:
    client: Any = Client(KafkaError.NOT_LEADER_FOR_PARTITION)
    assert watermarks(client, PLACE) == (3, 7)
    assert client.refreshed == 1


@pytest.mark.parametrize(
    "codes", [(KafkaError.NOT_LEADER_FOR_PARTITION,) * 2, (KafkaError.TOPIC_AUTHORIZATION_FAILED,)]
)
def test_what_does_not_pass_is_raised(codes: tuple[int, ...]) -> None:
    client: Any = Client(*codes)
    with pytest.raises(KafkaException):
        watermarks(client, PLACE)
