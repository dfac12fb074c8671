"""The coordinator in memory behaves as Kafka's does in transaction protocol v1."""

from __future__ import annotations

import random
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryProducer
from tests.runtime.simulator.coordinator import LOADING_SECONDS, Fenced, InvalidTransaction
from tests.runtime.simulator.late import KINDS

NAME, TOPIC = "app-group-0", "results"
PLACE = TOPIC, 0


@pytest.fixture
def broker() -> Broker:
    broker = Broker(random.Random(0))
    broker.create(TOPIC, 3)
    return broker


def producer_of(broker: Broker) -> MemoryProducer:
    producer = MemoryProducer(broker, NAME, lambda _: None)
    producer.init_transactions(1)
    return producer


def begun(broker: Broker, *values: bytes) -> MemoryProducer:
    """Return a producer with an open transaction, one record on each partition."""
    producer = producer_of(broker)
    producer.begin_transaction()
    for partition, value in enumerate(values):
        producer.produce(TOPIC, value, b"k", partition)
    return producer


def values(broker: Broker) -> list[bytes | None]:
    return [record.value_ for record in broker.committed(TOPIC)]


def stable(broker: Broker) -> list[int]:
    return [broker.partitions[TOPIC, number].stable for number in range(3)]


def test_a_transaction_is_readable_up_to_its_first_record_until_its_marker_is_written(broker: Broker) -> None:
    producer = begun(broker, b"a", b"b", b"c")
    assert stable(broker) == [0, 0, 0]
    producer.commit_transaction(1)
    for _ in range(3):
        broker.settle()
    assert stable(broker) == [2, 2, 2]
    assert values(broker) == [b"a", b"b", b"c"]


def test_a_new_epoch_aborts_the_open_transaction_and_fences_its_producer(broker: Broker) -> None:
    old = begun(broker, b"a", b"b")
    producer_of(broker)
    with pytest.raises(KafkaException) as refused:
        old.commit_transaction(1)
    assert refused.value.args[0].code() == KafkaError._FENCED
    assert values(broker) == []
    assert stable(broker) == [2, 2, 0]


def test_a_late_copy_of_a_commit_ends_the_next_transaction_of_its_epoch(broker: Broker) -> None:
    producer = begun(broker, b"a")
    broker.late.share = 1.0
    producer.commit_transaction(1)
    broker.late.share = 0.0
    producer.begin_transaction()
    producer.produce(TOPIC, b"b", b"k", 0)
    broker.late.deliver()
    assert values(broker) == [b"a", b"b"]
    with pytest.raises(KafkaException) as refused:
        producer.produce(TOPIC, b"c", b"k", 0)
    assert refused.value.args[0].code() == KafkaError.INVALID_TXN_STATE


def test_a_late_copy_of_a_commit_changes_nothing_in_a_new_epoch(broker: Broker) -> None:
    producer = begun(broker, b"a")
    broker.late.share = 1.0
    producer.commit_transaction(1)
    broker.late.share = 0.0
    begun(broker, b"b")
    broker.late.deliver()
    assert values(broker) == [b"a"]
    assert broker.late.delivered == {"late EndTxn refused": 1}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("EndTxn", "InitProducerId")])
def test_late_copies_of_other_requests_neither_repeat_a_record_nor_end_a_transaction(broker: Broker, kind: str) -> None:
    broker.late.share_of_others = 1.0
    producer = begun(broker, b"a", b"b")
    place: Any = type("Place", (), {"topic": "input", "partition": 0, "offset": 7, "metadata": "m"})()
    producer.send_offsets_to_transaction([place], object(), 1)
    producer.commit_transaction(1)
    broker.late.share_of_others = 0.0
    broker.late._requests = [request for request in broker.late._requests if request[0] == kind]
    assert broker.late._requests
    producer.begin_transaction()
    producer.produce(TOPIC, b"c", b"k", 0)
    while broker.late._requests:
        broker.late.deliver()
    assert values(broker) == [b"a", b"b"]
    producer.commit_transaction(1)
    assert values(broker) == [b"a", b"c", b"b"]
    assert broker.marked["input", 0] == (7, "m")


def test_a_repeated_commit_gets_the_same_answer(broker: Broker) -> None:
    begun(broker, b"a", b"b", b"c").commit_transaction(1)
    broker.coordinator.end(NAME, 1, "committed")
    assert stable(broker) == [2, 2, 2]
    with pytest.raises(InvalidTransaction):
        broker.coordinator.end(NAME, 1, "aborted")


def test_a_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_fenced(broker: Broker) -> None:
    producer = begun(broker, b"a")
    broker.now += 6
    broker.coordinator.expire(5.0)
    assert stable(broker) == [2, 0, 0]
    with pytest.raises(KafkaException):
        producer.commit_transaction(1)
    with pytest.raises(Fenced):
        broker.coordinator.own(NAME, 1)


def test_a_new_coordinator_completes_what_was_decided_and_keeps_what_is_open(broker: Broker) -> None:
    producer = begun(broker, b"a", b"b", b"c")
    broker.coordinator.move()
    producer.commit_transaction(1)
    assert broker.now >= LOADING_SECONDS
    broker.coordinator.move()
    for _ in range(3):
        broker.settle()
    assert all(not partition.open for partition in broker.partitions.values())
    assert values(broker) == [b"a", b"b", b"c"]


def test_a_record_outside_of_its_transaction_is_refused(broker: Broker) -> None:
    begun(broker, b"a").commit_transaction(1)
    with pytest.raises(InvalidTransaction):
        broker.coordinator.verify(NAME, 1, PLACE)


def test_the_end_of_a_repeated_commit_is_unknown_if_a_new_owner_refuses_the_second_copy(broker: Broker) -> None:
    def at(point: str) -> None:
        if point == "commit.repeated":
            broker.late.share = 0.0
            broker.late.deliver()
            producer_of(broker)

    producer = MemoryProducer(broker, NAME, at)
    producer.init_transactions(1)
    producer.begin_transaction()
    producer.produce(TOPIC, b"first", b"k", 0)
    broker.late.share = 1.0
    with pytest.raises(KafkaException):
        producer.commit_transaction(1)
    assert values(broker) == [b"first"]
    assert broker.attempts[-1].answer == "unknown", "the first copy has committed it"
