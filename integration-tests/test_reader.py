"""Offset ranges of a real broker: control records, replays, several partitions, deleted records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from own_topics import new_topic, settings_of, texts, write, write_aborted

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.runtime.batch import Range
from forebay.runtime.errors import OffsetsLost
from forebay.runtime.reader import RangeReader


@pytest.fixture
def settings(endpoints: Endpoints) -> KafkaSettings:
    return settings_of(endpoints)


@pytest.fixture
def reader(settings: KafkaSettings) -> Iterator[RangeReader]:
    reader = RangeReader(Consumer(settings.consumer()), stall_seconds=3.0)
    yield reader
    reader.close()


def read(reader: RangeReader, *ranges: Range) -> list[list[str]]:
    return [[(m.value() or b"").decode() for m in stream] for stream in reader.read(ranges)]


def end_of(settings: KafkaSettings, topic: str, partition: int = 0) -> int:
    consumer = Consumer(settings.consumer())
    end = consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)[1]
    consumer.close()
    return int(end)


def names(count: int, partition: int = 0, start: int = 0) -> list[str]:
    return [text for _, text in texts(count, partition, start)]


def test_an_idle_topic_that_ends_in_control_records_is_read_to_its_end(
    settings: KafkaSettings, reader: RangeReader
) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(3))
    write_aborted(settings, topic, texts(2, start=3))
    write(settings, topic, [])
    end = end_of(settings, topic)
    assert end == 7, "three records, a commit, two aborted records, an abort"
    assert read(reader, Range(topic, 0, 0, end)) == [names(3)]
    assert read(reader, Range(topic, 0, end, end)) == [[]]
    write(settings, topic, texts(1, start=5))
    assert read(reader, Range(topic, 0, end, end_of(settings, topic))) == [names(1, start=5)]


def test_ranges_of_control_and_aborted_records_only_are_empty(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(3))
    write_aborted(settings, topic, texts(2, start=3))
    write(settings, topic, texts(2, start=5))
    assert read(reader, Range(topic, 0, 0, 4)) == [names(3)]
    assert read(reader, Range(topic, 0, 4, 6)) == [[]]
    assert read(reader, Range(topic, 0, 6, 8)) == [names(1, start=5)]
    assert read(reader, Range(topic, 0, 8, 10)) == [names(1, start=6)]


def test_a_range_is_read_again_and_from_the_middle_on(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(100))
    whole = Range(topic, 0, 0, 101)
    assert read(reader, whole) == [names(100)]
    assert read(reader, whole) == [names(100)]
    assert read(reader, Range(topic, 0, 40, 60)) == [names(20, start=40)]
    (stream,) = reader.read([Range(topic, 0, 60, 101)])
    assert [next(stream).offset() for _ in range(3)] == [60, 61, 62]
    assert read(reader, Range(topic, 0, 60, 101)) == [names(40, start=60)], "an unfinished range is begun again"


def test_partitions_are_read_side_by_side(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader", partitions=2)
    write(settings, topic, [*texts(50, 0), *texts(10, 1)])
    dense, sparse = reader.read([Range(topic, 0, 0, 51), Range(topic, 1, 0, 11)])
    taken = []
    for number in range(10):
        taken.append((next(sparse).offset(), [next(dense).offset() for _ in range(5)]))
        assert taken[-1] == (number, list(range(number * 5, number * 5 + 5)))
    assert next(sparse, None) is None
    assert next(dense, None) is None
    write(settings, topic, texts(5, 1, start=10))
    assert read(reader, Range(topic, 0, 51, 51), Range(topic, 1, 11, 17)) == [[], names(5, 1, start=10)]


def test_a_new_partition_joins(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader", partitions=2)
    write(settings, topic, [*texts(5, 0), *texts(5, 1)])
    assert read(reader, Range(topic, 0, 0, 3)) == [names(3)]
    assert read(reader, Range(topic, 0, 3, 6), Range(topic, 1, 0, 6)) == [names(2, start=3), names(5, 1)]


@pytest.mark.parametrize("begun", [False, True])
def test_deleted_records_end_the_job_by_name(settings: KafkaSettings, reader: RangeReader, begun: bool) -> None:
    topic = new_topic(settings, "reader", partitions=2)
    write(settings, topic, texts(20, 1))
    if begun:
        assert read(reader, Range(topic, 1, 0, 5)) == [names(5, 1)]
        read(reader, Range(topic, 1, 20, 21))
    admin = AdminClient(settings.admin())
    for future in admin.delete_records([TopicPartition(topic, 1, 12)]).values():
        future.result(30)
    with pytest.raises(
        OffsetsLost, match=rf"{topic}-1: offset 5 is wanted, but the topic holds 12 to 21.*forebay reset"
    ):
        read(reader, Range(topic, 1, 5, 21))


def test_a_topic_that_became_shorter_ends_the_job_by_name(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader")
    write(settings, topic, texts(5))
    with pytest.raises(OffsetsLost, match=rf"{topic}-0: .*6.*50.*are wanted, but the topic holds 0 to 6"):
        read(reader, Range(topic, 0, 0, 50))


def test_a_missing_topic_is_no_endless_wait(settings: KafkaSettings, reader: RangeReader) -> None:
    topic = new_topic(settings, "reader")
    TopicAdmin(settings).delete([topic])
    with pytest.raises(Exception, match=topic):
        read(reader, Range(topic, 0, 0, 5))
