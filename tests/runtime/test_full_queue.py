"""If a producer's queue is full, the commit waits, so that every record is sent once and in order."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.partitioner import Partitioner
from forebay.processor.batch import BatchResult
from forebay.processor.messages import Output
from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.commit import Destinations, TaskCommit
from forebay.runtime.worker.send_queue import SendQueue
from forebay.runtime.worker.transaction import GroupProducer


class SmallQueue:
    """A producer with space for a few records until it is polled."""

    def __init__(self, room: int) -> None:
        self.room, self.left = room, room
        self.sent: list[tuple[str, bytes | None, bytes | None, int]] = []
        self.refused = 0

    def produce(self, topic: str, value: Any, key: Any, partition: int = -1, timestamp: int = 0, **_: Any) -> None:
        if not self.left:
            self.refused += 1
            raise BufferError("Local: Queue full")
        self.left -= 1
        self.sent.append((topic, key, value, timestamp))

    def poll(self, _seconds: float) -> int:
        self.left = self.room
        return 0

    def flush(self, _seconds: float) -> int:
        return 0

    def begin_transaction(self) -> None:
        return

    def commit_transaction(self, _seconds: float) -> None:
        return

    def init_transactions(self, _seconds: float) -> None:
        return

    def list_topics(self, *_: Any, **__: Any) -> Any:
        return None

    def __len__(self) -> int:
        return self.room - self.left


@pytest.mark.parametrize("room", [1, 3, 1_000])
def test_every_record_is_sent_once_and_in_order(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.runtime.worker.transaction.learn_leaders", lambda *_: None)
    result = BatchResult(
        outputs=[Output(b"k", b"v%d" % at, at, "out", [("h", b"1")] if at % 3 == 0 else None) for at in range(10)],
        changes=[(b"store\0k%d" % at, b"r%d" % at) for at in range(10)],
    )
    small: Any = SmallQueue(room)
    nobody: Any = None
    producer = GroupProducer(nobody, lambda: small, Destinations("errors", "late", {}, Partitioner(1)))
    producer.fence()
    router = ChangelogRouter({"store": "rows"}, "own", 0)
    producer.commit([TaskCommit("t", "0-0", result, TaskPosition("c", 1), router)])
    outputs = [("out", b"k", b"v%d" % at, at) for at in range(10)]
    rows = [("rows", b"k%d" % at, b"r%d" % at, 0) for at in range(10)]
    assert small.sent[:-1] == outputs + rows
    assert small.sent[-1][:2] == ("own", POSITION)
    assert (small.refused > 0) == (room < 1_000)


class Forgetful:
    """A producer that sends nothing until its request number `asks` for the partition leaders is answered."""

    def __init__(self, asks: int) -> None:
        self.asks, self.asked, self.now = asks, 0, 0.0

    def produce(self) -> None:
        return

    def flush(self, seconds: float) -> int:
        self.now += seconds
        return 0 if self.asked >= self.asks else 7

    def list_topics(self, timeout: float) -> None:
        self.asked += 1
        if self.asked < self.asks:
            self.now += timeout
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))


@pytest.mark.parametrize("asks", [1, 3])
def test_while_nothing_is_sent_the_client_asks_for_partition_leaders(
    asks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer: Any = Forgetful(asks)
    monkeypatch.setattr("forebay.runtime.worker.send_queue.time.monotonic", lambda: producer.now)
    SendQueue(producer, 60.0, 300.0).drain()
    assert producer.asked == asks
    assert producer.now < 20


class Answered:
    """A client that gets no answers before its request number `first`."""

    def __init__(self, first: int) -> None:
        self.left = first - 1

    def list_topics(self, timeout: float) -> None:
        self.left -= 1
        if self.left >= 0:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))


@pytest.mark.parametrize("first", [1, 5])
def test_a_producer_fails_soon_if_the_broker_answers_only_other_clients(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer: Any = Forgetful(1_000)
    other: Any = Answered(first)
    monkeypatch.setattr("forebay.runtime.worker.send_queue.time.monotonic", lambda: producer.now)
    with pytest.raises(Unavailable, match="7 records wait: the broker answers other clients, but not this producer"):
        SendQueue(producer, 60.0, 300.0, other).drain()
    assert producer.asked == first + 1


def test_a_commit_fails_if_the_queue_stays_full(monkeypatch: pytest.MonkeyPatch) -> None:
    producer: Any = Forgetful(1_000)
    monkeypatch.setattr("forebay.runtime.worker.send_queue.time.monotonic", lambda: producer.now)
    with pytest.raises(Unavailable, match="7 records wait, and the broker has accepted none of them for 60 s"):
        SendQueue(producer, 60.0, 300.0).drain()
    assert producer.asked < 12
