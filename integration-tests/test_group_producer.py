"""A task group writes one transaction per commit to a real broker: fencing, and what other consumers see."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from own_topics import new_topic, settings_of
from quotas import limit_producer
from topic_reading import read_topic

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.partitioner import Partitioner
from forebay.platform import Endpoints
from forebay.processor.batch import BatchResult, Position
from forebay.processor.messages import Output, SideRecord
from forebay.processor.repartition_headers import SENDER
from forebay.runtime.changelog.topics import ChangelogRouter
from forebay.runtime.errors import GroupFenced, TopicChanged, TransactionTooLong
from forebay.runtime.protocol.position import POSITION, TaskPosition, owner
from forebay.runtime.protocol.times import TIME, TaskTime
from forebay.runtime.task.commit import Destinations, TaskCommit
from forebay.runtime.worker.send_queue import SendQueue
from forebay.runtime.worker.transaction import GroupProducer

CHECKPOINT = "checkpoint-1"


@dataclass
class Place:
    """A group's topics, and producers that write to them, each of which acts as a separate worker."""

    settings: KafkaSettings
    source: str
    output: str
    errors: str
    late: str
    store: str
    internal: str
    forwarded: str

    def producer(self, transaction_seconds: float = 300.0) -> GroupProducer:
        return GroupProducer(
            Consumer(self.settings.consumer(**{"group.id": f"{self.source}-marker"})),
            lambda: Producer(self.settings.producer(**{"transactional.id": self.source})),
            Destinations(self.errors, self.late, {"next": self.forwarded}, Partitioner(2)),
            timeout=20.0,
            transaction_seconds=transaction_seconds,
        )

    def open(self, transaction_seconds: float = 300.0) -> GroupProducer:
        producer = self.producer(transaction_seconds)
        producer.fence()
        return producer

    def commit(self, n: int, *values: bytes, result: BatchResult | None = None) -> TaskCommit:
        """Return commit `n` of the task with partition 1."""
        result = result or BatchResult(outputs=[Output(b"key", value, 5, self.output) for value in values])
        result.position = Position(5, 5)
        position = TaskPosition(CHECKPOINT, n, 5, 5, ends=((self.source, 1, n * 10),))
        return TaskCommit("task", "0-1", result, position, self.router())

    def router(self) -> ChangelogRouter:
        return ChangelogRouter({"totals": self.store}, self.internal, 1)

    def seen(self, topic: str, **overrides: str) -> list[bytes | None]:
        return [m.value() for messages in read_topic(self.settings, topic, **overrides).values() for m in messages]

    def positions(self) -> list[TaskPosition]:
        messages = read_topic(self.settings, self.internal)[1]
        return [TaskPosition.from_json(m.value() or b"") for m in messages if m.key() == POSITION]


@pytest.fixture
def place(endpoints: Endpoints) -> Place:
    settings = settings_of(endpoints)
    kinds = ("source", "output", "errors", "late", "store", "internal", "forwarded")
    return Place(settings, *(new_topic(settings, kind, 2) for kind in kinds))


def test_commit_is_one_transaction(place: Place) -> None:
    result = BatchResult(outputs=[Output(b"key", value, 5, place.output) for value in (b"one", b"two")])
    result.errors = [SideRecord(b"k", b"broken", 7, [("error.class", b"X"), ("origin", None)])]
    result.late = [SideRecord(None, None, 8, [("late.by_ms", b"3")])]
    result.changes = [(b"totals\0ann", b"row"), (b"totals\0bob", None), (b"\x01timer\0x", b"due"), (b"none\0x", b"y")]
    result.onward = [Output(b"ann", b"forwarded", 6, "next")]
    time = TaskTime(5, True)
    commit = replace(place.commit(1, result=result), times=(("next", time),))
    place.open().commit([commit], [commit.position])

    assert place.seen(place.output) == [b"one", b"two"]
    (error,) = [m for messages in read_topic(place.settings, place.errors).values() for m in messages]
    assert (error.key(), error.value(), error.timestamp()[1]) == (b"k", b"broken", 7)
    assert error.headers() == [("error.class", b"X"), ("origin", None)]
    (late,) = [m for messages in read_topic(place.settings, place.late).values() for m in messages]
    assert (late.key(), late.value(), late.headers()) == (None, None, [("late.by_ms", b"3")])
    rows = read_topic(place.settings, place.store)
    assert [(m.key(), m.value()) for m in rows[1]] == [(b"ann", b"row"), (b"bob", None)]
    assert rows[0] == []
    timer, position = read_topic(place.settings, place.internal)[1]
    assert (timer.key(), timer.value()) == (b"\x01timer\0x", b"due")
    assert (position.key(), place.positions()) == (POSITION, [commit.position])
    forwarded = read_topic(place.settings, place.forwarded)
    (record,) = [m for messages in forwarded.values() for m in messages if m.key() is not None]
    assert (record.value(), record.timestamp()[1], record.headers()) == (b"forwarded", 6, [(SENDER, b"0-1")])
    headers = [messages[-1].headers() for messages in forwarded.values()]
    assert headers == [[(SENDER, b"0-1"), (TIME, time.to_json())]] * 2, "each partition gets the time after the records"
    group = Consumer(place.settings.consumer(**{"group.id": f"{place.source}-marker"}))
    (marker,) = group.committed([TopicPartition(place.source, 1)], 20)
    group.close()
    assert (marker.offset, owner(marker.metadata or "")) == (10, (CHECKPOINT, 1))


def test_worker_commits_repeatedly_without_the_driver(place: Place) -> None:
    producer = place.open()
    for n in range(1, 21):
        producer.commit([place.commit(n, b"%d" % n)])
    assert place.seen(place.output) == [b"%d" % n for n in range(1, 21)]
    assert [position.n for position in place.positions()] == list(range(1, 21))


def test_a_zombie_s_commit_fails_and_nothing_of_it_is_seen(place: Place) -> None:
    zombie = place.open()
    zombie.commit([place.commit(1, b"first")])
    successor = place.open()
    with pytest.raises(GroupFenced, match="another worker commits for this group now"):
        zombie.commit([place.commit(2, b"zombie")])
    zombie.discard()
    assert not zombie.is_open
    successor.commit([place.commit(2, b"second")])
    assert place.seen(place.output) == [b"first", b"second"]
    assert [position.n for position in place.positions()] == [1, 2]


def test_a_zombie_s_open_transaction_is_aborted_before_its_successor_reads(place: Place) -> None:
    place.open().commit([place.commit(1, b"first")])
    hanging = Producer(place.settings.producer(**{"transactional.id": place.source, "transaction.timeout.ms": 600_000}))
    hanging.init_transactions(20)
    hanging.begin_transaction()
    hanging.produce(place.output, b"never committed", b"key")
    hanging.produce(place.internal, b"never committed", POSITION, 1)
    assert hanging.flush(20) == 0
    group = Consumer(place.settings.consumer(**{"group.id": f"{place.source}-marker"}))
    offsets = [TopicPartition(place.source, 1, 20, "never committed")]
    hanging.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), 20)
    successor = place.open()
    assert [position.n for position in place.positions()] == [1], (
        "everything is read: no open transaction hides it any more"
    )
    successor.commit([place.commit(2, b"second")])
    assert place.seen(place.output) == [b"first", b"second"]
    assert b"never committed" in place.seen(place.output, **{"isolation.level": "read_uncommitted"})
    with pytest.raises(Exception, match=r"fenced|newer producer|PRODUCER"):
        hanging.commit_transaction(20)


def test_discarded_attempt_is_never_visible_and_the_next_one_is_committed(place: Place) -> None:
    producer = place.open()
    producer.commit([place.commit(1, b"first")])
    with pytest.raises(Exception, match="Message size too large"):
        producer.commit([place.commit(2, *[b"half"] * 100, b"x" * 5_000_000)])
    producer.discard()
    producer.fence()
    producer.commit([place.commit(2, b"second")])
    assert place.seen(place.output) == [b"first", b"second"]


def test_many_outputs_go_through_one_transaction(place: Place) -> None:
    values = [b"%d" % number for number in range(25_000)]
    place.open().commit([place.commit(1, *values)])
    assert place.seen(place.output) == values


def test_commit_larger_than_the_producer_queue_is_sent_completely(place: Place) -> None:
    small = replace(place.settings, kafka={"queue.buffering.max.kbytes": "1024"})
    values = [bytes([number]) * 300_000 for number in range(40)]
    replace(place, settings=small).open().commit([place.commit(1, *values)])
    assert sorted(filter(None, place.seen(place.output))) == values


def test_failed_commit_names_the_deleted_topic(place: Place) -> None:
    producer = place.open()
    producer.commit([place.commit(1, b"one")])
    TopicAdmin(place.settings).delete([place.store])
    result = BatchResult(outputs=[Output(b"key", b"two", 5, place.output)], changes=[(b"totals\0key", b"value")])
    with pytest.raises(TopicChanged, match=f"topic {place.store} does not exist any more"):
        producer.commit([place.commit(2, result=result)])
    assert place.seen(place.output) == [b"one"]


def test_commit_to_a_slow_broker_fails_within_the_transaction_timeout(place: Place) -> None:
    servers = place.settings.bootstrap_servers
    limit_producer(servers, place.source, 20_000)
    slow = replace(place.settings, kafka={"client.id": place.source})
    try:
        with pytest.raises(TransactionTooLong, match="records still wait for the broker after 2 s"):
            replace(place, settings=slow).open(2.0).commit([place.commit(1, *[b"v" * 50_000] * 100)])
    finally:
        limit_producer(servers, place.source, 0)
    place.open()
    assert place.seen(place.output) == []
    assert place.positions() == []


def test_fencing_is_detected_although_the_client_logger_swallows_errors(place: Place) -> None:
    """Code in a logger that catches errors must not lose the error that the client set before it called the logger."""
    topic = new_topic(place.settings, "wide", 12)
    zombie, successor = (Producer(place.settings.producer(**{"transactional.id": topic})) for _ in range(2))
    zombie.init_transactions(20)
    zombie.begin_transaction()
    queue = SendQueue(zombie, 20, 20)
    for partition in range(12):
        queue.put(topic, b"not yet a zombie's", b"key", partition)
    queue.drain()
    successor.init_transactions(20)
    for partition in range(12):
        queue.put(topic, b"a zombie's", b"key", partition)
    with pytest.raises(KafkaException) as fenced:
        queue.drain()
    assert fenced.value.args[0].code() == KafkaError._FENCED
