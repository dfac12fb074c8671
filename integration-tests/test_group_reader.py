"""The reader of a task group on a real broker: control records, several partitions, pauses, deleted records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient
from own_topics import new_topic, send, settings_of, texts, transactional, write, write_aborted

from forebay.kafka.partition_ends import partition_ends, readable_ends
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.runtime.errors import OffsetsLost
from forebay.runtime.protocol.gaps import AcceptedGaps
from forebay.runtime.task import inputs
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.worker.ends import last_stable
from forebay.runtime.worker.reader import GroupReader

SECONDS = 30.0
EVERYTHING = 1_000_000


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return settings_of(endpoints)


@pytest.fixture
def reader(settings: KafkaSettings) -> Iterator[GroupReader]:
    reader = GroupReader(Consumer(settings.consumer()), AdminClient(settings.admin()))
    yield reader
    reader.close()


def task(topic: str, *starts: int, until: int = -1) -> TaskInput:
    return TaskInput([InputPartition(topic, number, 1, start, until) for number, start in enumerate(starts)])


def hidden(reader: GroupReader, item: TaskInput) -> dict[tuple[str, int], int]:
    """Return the number of offsets after the last stable ones, by partition, without those that have none."""
    places = [(partition.topic, partition.partition) for partition in item.partitions]
    stable, ends = last_stable(reader._admin, places), reader.written_ends(places)
    return {place: ends[place] - stable[place] for place in places if ends[place] > stable[place]}


def until_ended(reader: GroupReader, item: TaskInput) -> None:
    """Wait for the markers of committed transactions, which the broker writes after its response."""
    deadline = time.monotonic() + SECONDS
    while hidden(reader, item):
        assert time.monotonic() < deadline, "a transaction's marker does not appear"


def read(reader: GroupReader, item: TaskInput, is_open: bool = False) -> None:
    """Read until all current records have arrived. If `is_open`, don't wait for the end of open transactions."""
    if not is_open:
        until_ended(reader, item)
    deadline = time.monotonic() + SECONDS
    reader.look()
    while not reader.has_all(item):
        assert time.monotonic() < deadline, "some records did not arrive"
        reader.read(0.1, EVERYTHING)


def take(item: TaskInput) -> list[list[str]]:
    return [[(m.value() or b"").decode() for m in stream] for stream in item.ready(EVERYTHING)]


def names(count: int, partition: int = 0, start: int = 0) -> list[str]:
    return [text for _, text in texts(count, partition, start)]


def test_control_and_aborted_records_are_skipped_to_the_end(settings: KafkaSettings, reader: GroupReader) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(3))
    write_aborted(settings, topic, texts(2, start=3))
    write(settings, topic, [])
    item = task(topic, 0)
    reader.assign([item])
    read(reader, item)
    assert item.waiting == 3
    assert item.is_read
    was_caught_up = item.is_caught_up
    assert not was_caught_up
    assert take(item) == [names(3)]
    assert item.is_caught_up
    assert item.ends == ((topic, 0, 7),), "three records, a commit, two aborted records, an abort"
    write(settings, topic, texts(1, start=5))
    read(reader, item)
    assert take(item) == [names(1, start=5)]


def test_reading_begins_at_a_partition_s_position_and_ends_at_its_limit(
    settings: KafkaSettings, reader: GroupReader
) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(100))
    item = task(topic, 40, until=60)
    reader.assign([item])
    read(reader, item)
    assert take(item) == [names(20, start=40)]
    assert item.is_done(1)
    assert item.ends == ((topic, 0, 60),)


def test_a_reassigned_partition_is_read_again(settings: KafkaSettings, reader: GroupReader) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(50))
    for _ in range(2):
        item = task(topic, 10)
        reader.assign([item])
        read(reader, item)
        assert take(item) == [names(40, start=10)]


def test_an_open_transaction_hides_later_records_which_count_as_unread(
    settings: KafkaSettings, reader: GroupReader, wait_until: Callable[..., None]
) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(2))
    producer = transactional(settings, f"{topic}-open")
    producer.begin_transaction()
    send(producer, topic, texts(1, start=2))
    write(settings, topic, texts(1, start=3))
    item = task(topic, 0)
    reader.assign([item])
    wait_until(lambda: hidden(reader, item) == {(topic, 0): 3}, "the transaction is open")
    read(reader, item, is_open=True)
    assert take(item) == [names(2)]
    (partition,) = item.partitions
    assert reader.written_ends([(topic, 0)])[topic, 0] - partition.next == 3
    producer.commit_transaction(30)
    read(reader, item)
    assert take(item) == [names(2, start=2)]
    wait_until(lambda: reader.read(0.1, EVERYTHING) == 0 and partition.at_end, "the end is reached")
    assert reader.written_ends([(topic, 0)])[topic, 0] == partition.next


def test_partition_with_too_many_buffered_records_is_paused_and_resumed(
    settings: KafkaSettings, reader: GroupReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebay.runtime.worker.reader.MOST_WAITING", 100)
    assert inputs.MOST_WAITING > 100
    topic = new_topic(settings, "reader", partitions=2)
    write(settings, topic, [*texts(2_000, 0), *texts(10, 1)])
    item = task(topic, 0, 0)
    reader.assign([item])
    while item.waiting <= 100:
        reader.read(0.1, 50)
    reader.balance([item])
    reader.look()
    assert reader.has_all(item) or item.partitions[1].next < 11, "the reader does not wait for paused partitions"
    results: list[str] = []
    deadline = time.monotonic() + SECONDS
    while len(results) < 2_010:
        assert time.monotonic() < deadline, f"{len(results)} records came"
        results += [text for stream in take(item) for text in stream]
        reader.balance([item])
        reader.read(0.1, 50)
    assert [text for text in results if text.startswith("0.")] == names(2_000)
    assert [text for text in results if text.startswith("1.")] == names(10, 1)


def test_deleted_records_stop_the_job_with_an_error_that_names_them(
    settings: KafkaSettings, reader: GroupReader
) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(20))
    admin = AdminClient(settings.admin())
    for future in admin.delete_records([TopicPartition(topic, 0, 12)]).values():
        future.result(30)
    item = task(topic, 5)
    reader.assign([item])
    with pytest.raises(
        OffsetsLost, match=rf"{topic}-0: offset 5 is wanted, but the topic holds 12 to 21.*forebay reset"
    ):
        read(reader, item)


def test_deleted_records_are_skipped_if_that_is_accepted(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(20))
    accepting, item = after_a_deletion(settings, topic)
    read(accepting, item)
    assert take(item) == [names(20)[12:]]
    assert item.deleted_unread == {topic: 7}
    accepting.close()


def test_records_deleted_while_their_transaction_is_open_are_skipped_too(settings: KafkaSettings) -> None:
    topic = new_topic(settings, "reader")
    producer = transactional(settings, topic)
    producer.begin_transaction()
    send(producer, topic, texts(20))
    accepting, item = after_a_deletion(settings, topic)
    assert item.deleted_unread == {topic: 7}
    admin, place = AdminClient(settings.admin()), (topic, 0)
    assert partition_ends(admin, [place], IsolationLevel.READ_COMMITTED, "the topic's") == {place: 0}
    assert readable_ends(admin, [place], "the topic's") == {place: 12}
    producer.commit_transaction(30)
    read(accepting, item)
    assert take(item) == [names(20)[12:]]
    accepting.close()


def after_a_deletion(settings: KafkaSettings, topic: str) -> tuple[GroupReader, TaskInput]:
    """Delete the first 12 records. Return a reader that accepts this gap, and its task, which begins at offset 5."""
    admin = AdminClient(settings.admin())
    for future in admin.delete_records([TopicPartition(topic, 0, 12)]).values():
        future.result(30)
    consumer = Consumer(settings.consumer(**{"group.id": topic}))
    accepting = GroupReader(consumer, admin, AcceptedGaps.parse([f"{topic}:0"]))
    item = task(topic, 5)
    accepting.assign([item])
    return accepting, item


def test_position_beyond_the_end_of_a_topic_stops_the_job_with_an_error(
    settings: KafkaSettings, reader: GroupReader
) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(5))
    item = task(topic, 50)
    reader.assign([item])
    until_ended(reader, item)
    with pytest.raises(OffsetsLost, match=rf"{topic}-0: offset 50 is wanted, but the topic holds 0 to 6"):
        _keep_reading(reader)


def _keep_reading(reader: GroupReader) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        reader.read(0.1, EVERYTHING)
