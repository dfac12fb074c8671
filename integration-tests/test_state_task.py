"""A state task with a real broker: what it does when its state, its marker or its topics are not as it left them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from own_topics import new_topic, settings_of
from topic_reading import fold, read_topic

from forebay.codec import Unavailable
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints, Platform
from forebay.processor.engine import Codecs, EngineSettings, TaskEngine
from forebay.runtime.batch import Range, TaskBatch, TaskReport
from forebay.runtime.changelog import ChangelogRouter
from forebay.runtime.changelog_reader import ChangelogRows, TopicChangelog
from forebay.runtime.errors import OffsetsLost, StateConflict
from forebay.runtime.reader import RangeReader
from forebay.runtime.task import StateTask, TaskSettings
from forebay.runtime.transaction import Topics, TransactionalSink
from forebay.stores.table import MemoryTable
from tests.runtime.task_harness import CODECS, OUTPUT, TOPIC, FakeState, Number, Sum, Total


class Place:
    """A task on topics of its own; `worker()` gives a new process of it, `state` is Spark's."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self.source, self.output, self.side, self.store, self.internal = (
            new_topic(settings, kind) for kind in ("numbers", "totals", "side", "store", "internal")
        )
        self.state, self.end, self.batch, self.fed = FakeState(), 0, 0, 0
        self.task = self.worker()

    def worker(self) -> StateTask:
        table = MemoryTable()
        codecs = Codecs({self.source: CODECS.inputs[TOPIC]}, CODECS.stores, {self.output: OUTPUT})
        group = {"group.id": f"{self.source}-marker"}
        consumer = Consumer(self.settings.consumer(**group))
        router = ChangelogRouter({"totals": self.store}, self.internal, 0)
        sink = TransactionalSink(
            consumer,
            Consumer(self.settings.consumer(**group, **{"isolation.level": "read_uncommitted"})),
            lambda: Producer(self.settings.producer(**{"transactional.id": self.source})),
            Topics(self.side, self.side),
            router,
            [(self.source, 0)],
            timeout=20.0,
        )
        engine = TaskEngine(Sum(), codecs, table, EngineSettings(service="sums"))
        reader = RangeReader(consumer, stall_seconds=5.0)
        rows = ChangelogRows({"totals": self.store}, self.internal)
        changelog = TopicChangelog(self.source, lambda: Consumer(self.settings.consumer()), rows, 0)
        self.task = StateTask(engine, table, reader, sink, changelog, TaskSettings(f"{self.source}-task", "v1"))
        return self.task

    def feed(self, *amounts: int) -> None:
        producer = Producer(self.settings.producer())
        for amount in amounts:
            self.fed += 1
            event = Number(f"e{self.fed}", 10 * self.fed, amount)
            producer.produce(self.source, CODECS.inputs[TOPIC].encode(event), b"ann", 0, timestamp=event.timestamp)
        assert producer.flush(20) == 0

    def plan(self, job: str = "job-1") -> TaskBatch:
        self.batch += 1
        start, self.end = self.end, self.fed
        return TaskBatch(job, 0, self.batch, 1_000_000, 0, (Range(self.source, 0, start, self.end),))

    def attempt(self, batch: TaskBatch) -> TaskReport:
        """Run a batch up to, not including, Spark's state commit."""
        self.state.begin()
        return self.task.run(batch, self.state)

    def run(self, *amounts: int) -> TaskReport:
        self.feed(*amounts)
        report = self.attempt(self.plan())
        self.state.commit()
        return report

    def totals(self) -> list[Total]:
        (messages,) = read_topic(self.settings, self.output).values()
        return [OUTPUT.decode(m.value() or b"") for m in messages]

    def changelog(self) -> list[Total]:
        (messages,) = read_topic(self.settings, self.store).values()
        return [OUTPUT.decode(row) for row in fold(messages).values()]


@pytest.fixture
def place(endpoints: Endpoints) -> Place:
    return Place(settings_of(endpoints))


def test_batches_follow_each_other_in_one_worker_and_the_next(place: Place) -> None:
    assert [place.run(1, 2).step, place.run(3).step] == ["produce", "produce"]
    place.worker()
    assert place.run(4).step == "produce"
    assert place.totals() == [Total(1, 1), Total(3, 2), Total(6, 3), Total(10, 4)]
    assert place.changelog() == [Total(10, 4)]


def test_a_batch_committed_to_the_broker_only_is_not_sent_twice(place: Place) -> None:
    place.run(1)
    place.feed(2)
    batch = place.plan()
    assert place.attempt(batch).step == "produce"
    place.worker()
    assert place.attempt(batch).step == "suppress"
    place.state.commit()
    assert place.run(3).step == "produce"
    assert place.totals() == [Total(1, 1), Total(3, 2), Total(6, 3)]


def test_a_worker_that_was_thought_dead_cannot_commit(place: Place) -> None:
    place.run(1)
    place.feed(2)
    batch = place.plan()
    zombie, zombie_state = place.task, FakeState(dict(place.state.committed))
    place.worker()
    place.attempt(batch)
    zombie_state.begin()
    with pytest.raises((Unavailable, StateConflict)):
        zombie.run(batch, zombie_state)
    place.state.commit()
    assert place.totals() == [Total(1, 1), Total(3, 2)]


def test_a_deleted_checkpoint_is_found_out_by_the_marker(place: Place) -> None:
    place.run(1)
    place.state, place.batch, place.end = FakeState(), 0, 0
    place.worker()
    with pytest.raises(StateConflict, match="the marker belongs to checkpoint job-1, but checkpoint job-2 is running"):
        place.attempt(place.plan("job-2"))
    assert place.totals() == [Total(1, 1)]


def test_an_old_copy_of_the_checkpoint_is_found_out(place: Place) -> None:
    place.run(1)
    old, end = FakeState(dict(place.state.committed)), place.end
    place.run(2)
    place.run(3)
    place.state, place.batch, place.end = old, 1, end
    place.worker()
    with pytest.raises(StateConflict, match=r"the state stands at batch 1.* the marker at batch 3"):
        place.attempt(place.plan())
    assert len(place.totals()) == 3


def test_a_lost_marker_stops_the_job(place: Place) -> None:
    place.run(1)
    admin = AdminClient(place.settings.admin())
    group = f"{place.source}-marker"
    admin.delete_consumer_groups([group])[group].result(20)
    place.worker()
    place.feed(2)
    with pytest.raises(StateConflict, match="its marker is gone"):
        place.attempt(place.plan())
    assert place.totals() == [Total(1, 1)]


def test_lost_input_stops_the_job_and_leaves_nothing_behind(place: Place) -> None:
    place.run(1)
    place.feed(2, 3)
    admin = AdminClient(place.settings.admin())
    for future in admin.delete_records([TopicPartition(place.source, 0, 2)]).values():
        future.result(20)
    batch = place.plan()
    place.worker()
    with pytest.raises(OffsetsLost, match="offset 1 is wanted, but the topic holds 2 to 3"):
        place.attempt(batch)
    assert place.totals() == [Total(1, 1)]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_worker_goes_on_after_the_broker_was_away(place: Place, platform: Platform, end: str) -> None:
    place.run(1)
    getattr(platform.broker, end)()
    platform.broker.start()
    place.feed(2)
    batch = place.plan()
    for _ in range(3):
        with suppress(Unavailable):
            place.attempt(batch)
            place.state.commit()
            break
    assert place.run(3).step == "produce"
    assert place.totals() == [Total(1, 1), Total(3, 2), Total(6, 3)]
