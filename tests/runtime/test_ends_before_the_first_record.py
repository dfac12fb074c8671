"""What an admin client says of a partition counts once the consumer has said something of it."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from forebay.runtime.errors import Unavailable
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.worker.reader import GroupReader

ORDERS, PRICES = ("food_orders", 0), ("menu_prices", 0)


class Record:
    """A record, or where a partition ended."""

    def __init__(self, place: tuple[str, int], offset: int, time: int = -1) -> None:
        self._place, self._offset, self._time = place, offset, time

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._time < 0 else None

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self._time

    def __len__(self) -> int:
        return 1


class Broker:
    """A consumer that gets what it is given, and an admin client that says what it is told to."""

    def __init__(self) -> None:
        self.arrived: list[Record] = []
        self.says: dict[tuple[str, int], int] = {}
        self.looks = 0

    def assign(self, _places: list[TopicPartition]) -> None:
        return

    def consume(self, _most: int, _seconds: float) -> list[Record]:
        found, self.arrived = self.arrived, []
        return found

    def list_offsets(self, asked: dict[TopicPartition, Any], **_options: Any) -> dict[TopicPartition, Future[Any]]:
        answers: dict[TopicPartition, Future[Any]] = {}
        for place in asked:
            answers[place] = Future()
            answers[place].set_result(SimpleNamespace(offset=self.says[place.topic, place.partition]))
        return answers

    def list_topics(self, **_options: Any) -> None:
        self.looks += 1


def opened() -> tuple[Broker, GroupReader, TaskInput]:
    broker = Broker()
    item = TaskInput([InputPartition(*PRICES, 0, 0), InputPartition(*ORDERS, 1, 0)])
    reader = GroupReader(broker, broker)  # type: ignore[arg-type]
    reader.assign([item])
    return broker, reader, item


def taken(item: TaskInput) -> list[str]:
    return [message.topic() or "" for stream in item.ready(100) for message in stream]


def test_orders_wait_for_prices_of_which_nothing_was_heard() -> None:
    broker, reader, item = opened()
    broker.arrived = [Record(ORDERS, 0, 1_000)]
    broker.says = {ORDERS: 1, PRICES: 0}
    reader.read(0, 100)
    reader.look()
    assert not reader.has_all(item)
    assert taken(item) == []
    broker.arrived = [Record(PRICES, 0, 999)]
    broker.says = {ORDERS: 1, PRICES: 1}
    reader.read(0, 100)
    reader.look()
    assert taken(item) == ["menu_prices", "food_orders"]


def test_a_partition_that_the_consumer_found_empty_is_not_waited_for() -> None:
    broker, reader, item = opened()
    broker.arrived = [Record(ORDERS, 0, 1_000), Record(PRICES, 0)]
    broker.says = {ORDERS: 1, PRICES: 0}
    reader.read(0, 100)
    reader.look()
    assert reader.has_all(item)
    assert taken(item) == ["food_orders"]


def test_an_answer_that_is_no_offset_is_no_end() -> None:
    broker, reader, _item = opened()
    broker.arrived = [Record(ORDERS, 0, 1_000), Record(PRICES, 0, 2_000)]
    broker.says = {ORDERS: 1, PRICES: -1}
    reader.read(0, 100)
    with pytest.raises(Unavailable):
        reader.look()
    assert broker.looks == 1, "the admin client was not made to look again"
