"""Failed records are sent to their input topics again, once each. Each transaction uses a new producer epoch."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from own_topics import new_name, new_topic, settings_of
from topic_reading import read_topic

from forebay.kafka.identities import replay_group
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.runtime.maintenance import failed_topic
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed, ReplayRefused


def test_each_record_is_sent_again_once_however_many_transactions_it_takes(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_topic, "_BATCH", 4)
    settings = settings_of(endpoints)
    source, errors, application = new_topic(settings, "source", 2), new_topic(settings, "errors"), new_name("replay")
    epochs: list[object] = []
    make = ErrorReplay._producer

    def count_producer(self: ErrorReplay) -> Producer:
        epochs.append(self)
        return make(self)

    monkeypatch.setattr(ErrorReplay, "_producer", count_producer)
    fail(settings, source, errors, range(10))
    progress: list[int] = []

    def run(begin: int | None = None) -> Replayed:
        replay = ErrorReplay(settings, application, errors, {source: 2}, begin)
        return replay.run(lambda done: progress.append(done.sent.total()))

    assert run(0).sent.total() == 10
    assert len(progress) >= 3, "several transactions"
    assert len(epochs) == len(progress) + 1, "each has its own epoch; the last one found nothing"
    fail(settings, source, errors, range(10, 13))
    assert run().sent.total() == 3
    assert run().sent.total() == 0
    result = read_topic(settings, source)
    assert [len(messages) for messages in result.values()] == [7, 6]
    values = sorted(int(m.value() or b"") for messages in result.values() for m in messages)
    assert values == list(range(13)), "each once"


def test_replay_without_a_position_requires_a_start_offset(endpoints: Endpoints) -> None:
    settings = settings_of(endpoints)
    source, errors, application = new_topic(settings, "source", 2), new_topic(settings, "errors", 3), new_name("replay")

    def run(begin: int | None = None) -> int:
        return ErrorReplay(settings, application, errors, {source: 2}, begin).run(lambda _: None).sent.total()

    assert run() == 0, "nothing failed yet"
    forget_positions(settings, application)
    fail(settings, source, errors, range(3))
    with pytest.raises(ReplayRefused, match=r"no position .*`--from beginning`"):
        run()
    assert run(0) == 3
    committed = positions(settings, application, errors, 3)
    assert sorted(committed.values()) == [0, 0, 3], "a partition without records has a position, too"
    with pytest.raises(ReplayRefused, match="omit --from"):
        run(0)
    forget_positions(settings, application)
    fail(settings, source, errors, range(3, 5))
    with pytest.raises(ReplayRefused, match=r"no position .*`--from OFFSET`"):
        run()
    assert run(3) == 2
    assert sum(len(messages) for messages in read_topic(settings, source).values()) == 5


def test_records_of_a_topic_that_is_not_an_input_are_not_skipped_silently(endpoints: Endpoints) -> None:
    settings = settings_of(endpoints)
    source, errors, application = new_topic(settings, "source", 2), new_topic(settings, "errors"), new_name("replay")
    fail(settings, source, errors, range(2))
    fail(settings, "renamed", errors, range(2, 4))
    with pytest.raises(ReplayRefused, match=r"offset 2 .* failed in renamed.*--topic.*`--leave-out renamed`"):
        ErrorReplay(settings, application, errors, {source: 2}, 0).run(lambda _: None)
    assert not any(read_topic(settings, source).values()), "nothing was sent, and no open transaction is in the way"
    done = ErrorReplay(settings, application, errors, {source: 2}, 0, ["renamed"]).run(lambda _: None)
    assert (done.sent.total(), done.passed_over.total()) == (2, 2)


def test_all_records_are_sent_even_if_they_exceed_the_producer_queue(endpoints: Endpoints) -> None:
    settings = settings_of(endpoints)
    source, errors, application = new_topic(settings, "source", 2), new_topic(settings, "errors"), new_name("replay")
    fail(settings, source, errors, range(50))
    small = replace(settings, kafka={**settings.kafka, "queue.buffering.max.messages": "4"})
    assert ErrorReplay(small, application, errors, {source: 2}, 0).run(lambda _: None).sent.total() == 50
    assert sum(len(messages) for messages in read_topic(settings, source).values()) == 50


def test_a_record_that_is_too_large_for_its_topic_is_reported_and_the_others_are_sent(endpoints: Endpoints) -> None:
    settings = settings_of(endpoints)
    source = new_topic(settings, "source", 2, **{"max.message.bytes": "3000"})
    errors, application = new_topic(settings, "errors"), new_name("replay")
    rng = random.Random(1)
    values = [rng.randbytes(500) for _ in range(20)]
    values[3], values[7], values[11] = rng.randbytes(5_000), rng.randbytes(9_000), b"a" * 9_000
    fail(settings, source, errors, range(20), values)

    def run(begin: int | None) -> Replayed:
        return ErrorReplay(settings, application, errors, {source: 2}, begin).run(lambda _: None)

    expected = ErrorReplay(settings, application, errors, {source: 2}, 0).look({source: 3_000})
    result = run(0)
    assert (expected.sent, expected.passed_over, expected.too_large) == (result.sent, result.passed_over, 2)
    assert result.too_large == 2
    assert result.sent.total() == 18, "small records that are too large together, and one that fits if compressed"
    assert sorted(re.findall(r"offset (\d+) of \S+ is larger than", " ".join(result.passed_over))) == ["3", "7"]
    assert sum(len(messages) for messages in read_topic(settings, source).values()) == 18
    fail(settings, source, errors, range(3))
    assert run(None).sent.total() == 3, "later replays are not blocked"


def forget_positions(settings: KafkaSettings, application: str) -> None:
    """Delete the consumer group, as a broker does after some time without commits."""
    group = replay_group(application)
    admin = AdminClient(settings.admin())
    admin.delete_consumer_groups([group])[group].result(30)


def positions(settings: KafkaSettings, application: str, topic: str, partitions: int) -> dict[int, int]:
    consumer = Consumer(settings.consumer(**{"group.id": replay_group(application)}))
    try:
        places = consumer.committed([TopicPartition(topic, number) for number in range(partitions)], 30)
        return {place.partition: place.offset for place in places}
    finally:
        consumer.close()


def fail(
    settings: KafkaSettings, source: str, errors: str, numbers: range, values: Sequence[bytes] | None = None
) -> None:
    """Write error reports as a job does."""
    producer = Producer(settings.producer())
    for number in numbers:
        headers: list[tuple[str, str | bytes | None]] = [
            *(("error.class", b"ValueError"), ("error.message", b"negative"), ("error.stage", b"process")),
            *(("error.topic", source.encode()), ("error.partition", b"%d" % (number % 2))),
            *(("error.offset", b"%d" % number), ("error.timestamp", b"5")),
        ]
        value = b"%d" % number if values is None else values[number]
        producer.produce(errors, value, b"key", headers=headers)
    assert producer.flush(30) == 0
