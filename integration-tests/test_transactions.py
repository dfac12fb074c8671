"""One transaction per task and batch, with a real broker: the marker, fencing, what others see and what they don't."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from own_topics import new_topic, settings_of
from quotas import limit_producer
from topic_reading import read_topic

from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.processor.engine import BatchResult, Position
from forebay.processor.messages import Output, SideRecord
from forebay.runtime.batch import Range
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.committed import POSITION
from forebay.runtime.errors import StateConflict, TopicChanged, TransactionTooLong
from forebay.runtime.marker import Marker
from forebay.runtime.transaction import Topics, TransactionalSink

JOB = "job-1"


@dataclass
class Place:
    """A task's topics, and sinks that write them: each sink is a worker of its own."""

    settings: KafkaSettings
    source: str
    output: str
    errors: str
    late: str
    store: str
    internal: str

    def sink(self, transaction_seconds: float = 300.0) -> TransactionalSink:
        group = {"group.id": f"{self.source}-marker"}
        return TransactionalSink(
            Consumer(self.settings.consumer(**group)),
            Consumer(self.settings.consumer(**group, **{"isolation.level": "read_uncommitted"})),
            lambda: Producer(self.settings.producer(**{"transactional.id": self.source})),
            Topics(self.errors, self.late),
            ChangelogRouter({"totals": self.store}, self.internal, 1),
            [(self.source, 1)],
            timeout=20.0,
            transaction_seconds=transaction_seconds,
        )

    def ranges(self, end: int) -> list[Range]:
        return [Range(self.source, 1, 0, end)]

    def seen(self, topic: str, **overrides: str) -> list[bytes | None]:
        return [m.value() for messages in read_topic(self.settings, topic, **overrides).values() for m in messages]


@pytest.fixture
def place(endpoints: Endpoints) -> Place:
    settings = settings_of(endpoints)
    kinds = ("source", "output", "errors", "late", "store", "internal")
    return Place(settings, *(new_topic(settings, kind, 2) for kind in kinds))


def marker(batch: int, job: str = JOB) -> Marker:
    return Marker(job, batch, 100 * batch, f"{batch:032x}", "v1")


def outputs(place: Place, *values: bytes) -> BatchResult:
    result = BatchResult(outputs=[Output(b"key", value, 5, place.output) for value in values])
    result.position = Position(5, 5)
    return result


def commit(sink: TransactionalSink, place: Place, batch: int, *values: bytes) -> None:
    sink.marker(JOB, batch)
    sink.commit(outputs(place, *values), place.ranges(batch * 10), marker(batch))


def test_everything_of_a_batch_is_committed_and_the_marker_read_back(place: Place) -> None:
    result = outputs(place, b"one", b"two")
    result.errors = [SideRecord(b"k", b"broken", 7, [("error.class", b"X"), ("origin", None)])]
    result.late = [SideRecord(None, None, 8, [("late.by_ms", b"3")])]
    result.changes = [(b"totals\0ann", b"row"), (b"totals\0bob", None), (b"\x01timer\0x", b"due"), (b"none\0x", b"y")]
    sink = place.sink()
    assert sink.marker(JOB, 1) is None
    sink.commit(result, place.ranges(10), marker(1))
    assert sink.marker(JOB, 1) == marker(1)
    assert place.sink().marker(JOB, 1) == marker(1)

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
    assert position.key() == POSITION


def test_a_newer_worker_fences_off_an_older_one(place: Place) -> None:
    older, newer = place.sink(), place.sink()
    commit(older, place, 1, b"first")
    assert newer.marker(JOB, 2) == marker(1)
    with pytest.raises(Unavailable, match="batch 2 was not committed"):
        commit(older, place, 2, b"zombie")
    assert place.seen(place.output) == [b"first"]
    commit(newer, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]
    assert place.sink().marker(JOB, 2) == marker(2)


def test_the_marker_of_a_transaction_in_flight_is_decided_before_it_is_read(place: Place) -> None:
    older = place.sink()
    commit(older, place, 1, b"first")
    hanging = Producer(place.settings.producer(**{"transactional.id": place.source}))
    hanging.init_transactions(20)
    hanging.begin_transaction()
    hanging.produce(place.output, b"never committed", b"key")
    hanging.flush(20)
    newer = place.sink()
    assert newer.marker(JOB, 2) == marker(1)
    commit(newer, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]
    assert b"never committed" in place.seen(place.output, **{"isolation.level": "read_uncommitted"})


def test_offsets_sent_by_a_worker_that_died_before_its_commit_are_not_waited_for(place: Place) -> None:
    older = place.sink()
    commit(older, place, 1, b"first")
    group = Consumer(place.settings.consumer(**{"group.id": f"{place.source}-marker"}))
    died = Producer(place.settings.producer(**{"transactional.id": place.source, "transaction.timeout.ms": 600_000}))
    died.init_transactions(20)
    died.begin_transaction()
    died.produce(place.output, b"never committed", b"key")
    offsets = [TopicPartition(place.source, 1, 20, marker(2).to_metadata())]
    died.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), 20)
    newer = place.sink()
    assert newer.marker(JOB, 2) == marker(1)
    commit(newer, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]


def test_an_attempt_given_up_is_never_seen_and_the_next_one_counts(place: Place) -> None:
    sink = place.sink()
    commit(sink, place, 1, b"first")
    broken = outputs(place, *[b"half" for _ in range(100)], b"x" * 5_000_000)
    with pytest.raises(Exception, match="Message size too large"):
        sink.commit(broken, place.ranges(20), marker(2))
    sink.discard()
    assert sink.marker(JOB, 2) == marker(1)
    commit(sink, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]


def test_another_jobs_marker_is_given_without_fencing_that_job(place: Place) -> None:
    living = place.sink()
    commit(living, place, 1, b"first")
    found = place.sink().marker("job-2", 2)
    assert found == marker(1)
    commit(living, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]


def test_a_marker_of_a_later_batch_is_given_without_fencing_whoever_went_on(place: Place) -> None:
    living = place.sink()
    commit(living, place, 1, b"first")
    commit(living, place, 2, b"second")
    assert place.sink().marker(JOB, 1) == marker(2)
    commit(living, place, 3, b"third")
    assert place.seen(place.output) == [b"first", b"second", b"third"]


def test_offsets_committed_by_a_stranger_stop_the_job(place: Place) -> None:
    stranger = Consumer(place.settings.consumer(**{"group.id": f"{place.source}-marker"}))
    stranger.commit(offsets=[TopicPartition(place.source, 1, 4)], asynchronous=False)
    stranger.close()
    with pytest.raises(StateConflict, match="not written by Forebay"):
        place.sink().marker(JOB, 1)


def test_many_outputs_go_through_one_transaction(place: Place) -> None:
    values = [b"%d" % number for number in range(25_000)]
    commit(place.sink(), place, 1, *values)
    assert place.seen(place.output) == values


def test_a_batch_larger_than_the_producer_s_queue_is_sent_as_the_broker_takes_it(place: Place) -> None:
    small = KafkaSettings(**{**place.settings.model_dump(), "kafka": {"queue.buffering.max.kbytes": 1_024}})
    values = [bytes([number]) * 300_000 for number in range(40)]
    commit(replace(place, settings=small).sink(), place, 1, *values)
    assert sorted(filter(None, place.seen(place.output))) == values


def test_a_topic_that_is_gone_is_named_when_the_batch_can_t_be_committed(place: Place) -> None:
    sink = place.sink()
    commit(sink, place, 1, b"one")
    TopicAdmin(place.settings).delete([place.store])
    result = outputs(place, b"two")
    result.changes = [(b"totals\0key", b"value")]
    sink.marker(JOB, 1)
    with pytest.raises(TopicChanged, match=f"topic {place.store} does not exist any more"):
        sink.commit(result, place.ranges(20), marker(2))
    assert place.seen(place.output) == [b"one"]


def test_a_batch_the_broker_takes_too_slowly_is_given_up_within_the_transaction_s_time(place: Place) -> None:
    servers = place.settings.bootstrap_servers
    limit_producer(servers, place.source, 20_000)
    slow = KafkaSettings(**{**place.settings.model_dump(), "kafka": {"client.id": place.source}})
    try:
        with pytest.raises(TransactionTooLong, match="records still wait for the broker after 2 s"):
            commit(replace(place, settings=slow).sink(2.0), place, 1, *[b"v" * 50_000] * 100)
    finally:
        limit_producer(servers, place.source, 0)
    assert place.seen(place.output) == []
    assert place.sink().marker(JOB, 1) is None
