"""First offset and end of a partition: one retry if leaders changed, as just after a topic was created."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

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

    def list_topics(self, topic: str, _seconds: float) -> None:
        assert topic == "t"
        self.refreshed += 1


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
