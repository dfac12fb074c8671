"""One transaction per task and batch, with a real broker: the marker, fencing, what others see and what they don't."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from own_topics import new_topic, settings_of
from topic_reading import read_topic

from forebay.codec import Unavailable
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.processor.engine import BatchResult, Position
from forebay.processor.messages import Output, SideRecord
from forebay.runtime.batch import Range
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.errors import StateConflict
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

    def sink(self) -> TransactionalSink:
        return TransactionalSink(
            Consumer(self.settings.consumer(**{"group.id": f"{self.source}-marker"})),
            lambda: Producer(self.settings.producer(**{"transactional.id": self.source})),
            Topics(self.errors, self.late),
            ChangelogRouter({"totals": self.store}, self.internal, 1),
            [(self.source, 1)],
            timeout=20.0,
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
    sink.marker(JOB)
    sink.commit(outputs(place, *values), place.ranges(batch * 10), marker(batch))


def test_everything_of_a_batch_is_committed_and_the_marker_read_back(place: Place) -> None:
    result = outputs(place, b"one", b"two")
    result.errors = [SideRecord(b"k", b"broken", 7, [("error.class", b"X"), ("origin", None)])]
    result.late = [SideRecord(None, None, 8, [("late.by_ms", b"3")])]
    result.changes = [(b"totals\0ann", b"row"), (b"totals\0bob", None), (b"\x01timer\0x", b"due"), (b"none\0x", b"y")]
    sink = place.sink()
    assert sink.marker(JOB) is None
    sink.commit(result, place.ranges(10), marker(1))
    assert sink.marker(JOB) == marker(1)
    assert place.sink().marker(JOB) == marker(1)

    assert place.seen(place.output) == [b"one", b"two"]
    (error,) = [m for messages in read_topic(place.settings, place.errors).values() for m in messages]
    assert (error.key(), error.value(), error.timestamp()[1]) == (b"k", b"broken", 7)
    assert error.headers() == [("error.class", b"X"), ("origin", None)]
    (late,) = [m for messages in read_topic(place.settings, place.late).values() for m in messages]
    assert (late.key(), late.value(), late.headers()) == (None, None, [("late.by_ms", b"3")])
    rows = read_topic(place.settings, place.store)
    assert [(m.key(), m.value()) for m in rows[1]] == [(b"ann", b"row"), (b"bob", None)]
    assert rows[0] == []
    assert [(m.key(), m.value()) for m in read_topic(place.settings, place.internal)[1]] == [(b"\x01timer\0x", b"due")]


def test_a_newer_worker_fences_off_an_older_one(place: Place) -> None:
    older, newer = place.sink(), place.sink()
    commit(older, place, 1, b"first")
    assert newer.marker(JOB) == marker(1)
    with pytest.raises(Unavailable, match="batch 2 was not committed"):
        commit(older, place, 2, b"zombie")
    assert place.seen(place.output) == [b"first"]
    commit(newer, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]
    assert place.sink().marker(JOB) == marker(2)


def test_the_marker_of_a_transaction_in_flight_is_decided_before_it_is_read(place: Place) -> None:
    older = place.sink()
    commit(older, place, 1, b"first")
    hanging = Producer(place.settings.producer(**{"transactional.id": place.source}))
    hanging.init_transactions(20)
    hanging.begin_transaction()
    hanging.produce(place.output, b"never committed", b"key")
    hanging.flush(20)
    newer = place.sink()
    assert newer.marker(JOB) == marker(1)
    commit(newer, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]
    assert b"never committed" in place.seen(place.output, **{"isolation.level": "read_uncommitted"})


def test_an_attempt_given_up_is_never_seen_and_the_next_one_counts(place: Place) -> None:
    sink = place.sink()
    commit(sink, place, 1, b"first")
    broken = outputs(place, *[b"half" for _ in range(100)], b"x" * 5_000_000)
    with pytest.raises(Exception, match="Message size too large"):
        sink.commit(broken, place.ranges(20), marker(2))
    sink.discard()
    assert sink.marker(JOB) == marker(1)
    commit(sink, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]


def test_another_jobs_marker_is_given_without_fencing_that_job(place: Place) -> None:
    living = place.sink()
    commit(living, place, 1, b"first")
    found = place.sink().marker("job-2")
    assert found == marker(1)
    commit(living, place, 2, b"second")
    assert place.seen(place.output) == [b"first", b"second"]


def test_offsets_committed_by_a_stranger_stop_the_job(place: Place) -> None:
    stranger = Consumer(place.settings.consumer(**{"group.id": f"{place.source}-marker"}))
    stranger.commit(offsets=[TopicPartition(place.source, 1, 4)], asynchronous=False)
    stranger.close()
    with pytest.raises(StateConflict, match="not written by Forebay"):
        place.sink().marker(JOB)


def test_many_outputs_go_through_one_transaction(place: Place) -> None:
    values = [b"%d" % number for number in range(25_000)]
    commit(place.sink(), place, 1, *values)
    assert place.seen(place.output) == values
