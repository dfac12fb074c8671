"""A partition's end from the admin client is used only after the consumer has returned an event of that partition."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from forebay.kafka import partition_ends
from forebay.runtime.errors import Unavailable
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.worker.reader import GroupReader
from tests.runtime.simulator.broker import Record
from tests.runtime.simulator.clients import EndEvent
from tests.runtime.simulator.coordinator import Place

ORDERS, PRICES = ("food_orders", 0), ("menu_prices", 0)


def record(place: Place, time: int) -> Record:
    """Return the first record of a partition."""
    return Record(place, 0, b"key", b"value", time, None, None, 0.0)


class Broker:
    """A consumer and an admin client that return the records and ends that the test sets."""

    def __init__(self) -> None:
        self.arrived: list[Record | EndEvent] = []
        self.says: dict[Place, int] = {}
        self.looks = 0

    def assign(self, _places: list[TopicPartition]) -> None:
        return

    def consume(self, _most: int, _seconds: float) -> list[Record | EndEvent]:
        records, self.arrived = self.arrived, []
        return records

    def list_offsets(self, asked: dict[TopicPartition, Any], **_options: Any) -> dict[TopicPartition, Future[Any]]:
        answers: dict[TopicPartition, Future[Any]] = {}
        for place in asked:
            answers[place] = Future()
            answers[place].set_result(SimpleNamespace(offset=self.says[place.topic, place.partition]))
        return answers

    def list_topics(self, **_options: Any) -> None:
        self.looks += 1

    def get_watermark_offsets(self, place: TopicPartition, cached: bool) -> tuple[int, int]:
        return -1001, -1001


def open_reader() -> tuple[Broker, GroupReader, TaskInput]:
    broker = Broker()
    item = TaskInput([InputPartition(*PRICES, 0, 0), InputPartition(*ORDERS, 1, 0)])
    reader = GroupReader(broker, broker)  # type: ignore[arg-type]
    reader.assign([item])
    return broker, reader, item


def take(item: TaskInput) -> list[str]:
    return [message.topic() or "" for stream in item.ready(100) for message in stream]


def test_orders_wait_until_the_consumer_has_returned_an_event_of_prices() -> None:
    broker, reader, item = open_reader()
    broker.arrived = [record(ORDERS, 1_000)]
    broker.says = {ORDERS: 1, PRICES: 0}
    reader.read(0, 100)
    reader.look()
    assert not reader.has_all(item)
    assert take(item) == []
    broker.arrived = [record(PRICES, 999)]
    broker.says = {ORDERS: 1, PRICES: 1}
    reader.read(0, 100)
    reader.look()
    assert take(item) == ["menu_prices", "food_orders"]


def test_a_task_does_not_wait_for_a_partition_that_the_consumer_found_empty() -> None:
    broker, reader, item = open_reader()
    broker.arrived = [record(ORDERS, 1_000), EndEvent(PRICES, 0)]
    broker.says = {ORDERS: 1, PRICES: 0}
    reader.read(0, 100)
    reader.look()
    assert reader.has_all(item)
    assert take(item) == ["food_orders"]


def test_an_invalid_offset_is_not_used_as_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_ends, "_PATIENCE_SECONDS", 0.0)
    broker, reader, _item = open_reader()
    broker.arrived = [record(ORDERS, 1_000), record(PRICES, 2_000)]
    broker.says = {ORDERS: 1, PRICES: -1}
    reader.read(0, 100)
    with pytest.raises(Unavailable):
        reader.look()
    assert broker.looks == 1, "the admin client was not made to look again"
