"""In look-ups of offsets by time, an error is never mistaken for a partition without later records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from forebay.codec import Unavailable
from forebay.kafka import partition_ends
from forebay.kafka.errors import KafkaUnavailable
from forebay.kafka.partition_ends import offsets_at
from forebay.runtime.broker.requests import BrokerView
from forebay.spark import broker
from forebay.spark.broker import Broker
from forebay.spark.source_options import Timestamp, read_source_options

PLACES = {("a", 0): 7, ("a", 1): 7}


class Leaders:
    """A client that returns each answer in turn: an offset or an error per partition."""

    def __init__(self, *answers: list[int | KafkaError]) -> None:
        self._answers = list(answers)

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[Any]:
        return [
            SimpleNamespace(topic=place.topic, partition=place.partition, offset=-1, error=answer)
            if isinstance(answer, KafkaError)
            else SimpleNamespace(topic=place.topic, partition=place.partition, offset=answer, error=None)
            for place, answer in zip(asked, self._answers.pop(0), strict=True)
        ]

    def list_topics(self, _topic: str, _seconds: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def look_up(*answers: list[int | KafkaError]) -> dict[tuple[str, int], int | None]:
    client: Any = Leaders(*answers)
    return offsets_at(client, PLACES)


def test_a_partition_without_later_records_has_no_offset() -> None:
    assert look_up([3, -1]) == {("a", 0): 3, ("a", 1): None}


def test_look_ups_are_retried_for_a_while_if_the_broker_is_not_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
    assert look_up([3, stale], [3, stale], [3, stale], [3, 4]) == {("a", 0): 3, ("a", 1): 4}
    monkeypatch.setattr(partition_ends, "_PATIENCE_SECONDS", 0.0)
    with pytest.raises(KafkaException, match="NOT_LEADER"):
        look_up([3, stale], [3, stale])


@pytest.mark.parametrize("code", [KafkaError.REQUEST_TIMED_OUT, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_any_other_error_is_raised(code: int) -> None:
    with pytest.raises(KafkaException):
        look_up([3, KafkaError(code)])


def test_neither_a_read_nor_a_job_begins_at_the_end_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    answer: list[int | KafkaError] = [3, KafkaError(KafkaError.REQUEST_TIMED_OUT)]
    client: Any = Leaders(answer, answer)
    monkeypatch.setattr(broker, "Consumer", lambda _settings: client)
    monkeypatch.setattr(Broker, "ends", lambda _self: {("a", 0): 9, ("a", 1): 9})
    options = read_source_options({"subscribe": "a", "bootstrapServers": "localhost:1", "valueFormat": "bytes"})
    with pytest.raises(KafkaUnavailable, match="can't look up offsets by time"):
        Broker(options).positions(Timestamp(7))
    unused: Any = None
    view = BrokerView(unused, client, ("a",))
    monkeypatch.setattr(view, "latest", lambda: {"a": (9, 9)})
    with pytest.raises(Unavailable, match="can't look up offsets by time"):
        view.from_time(7)


def test_a_record_that_arrives_during_the_look_up_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = Leaders([3, -1])
    unused: Any = None
    view = BrokerView(unused, client, ("a",))
    ends = iter([{"a": (5, 5)}, {"a": (5, 6)}])
    monkeypatch.setattr(view, "latest", lambda: next(ends))
    assert view.from_time(7) == {"a": (3, 5)}
