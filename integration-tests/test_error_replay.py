"""Failed records are sent back to their inputs once each, with one transaction per producer epoch."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from own_topics import new_name, new_topic, settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.runtime.maintenance import error_replay
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed


def test_each_record_is_sent_again_once_however_many_transactions_it_takes(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_replay, "_BATCH", 4)
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

    def run() -> Replayed:
        replay = ErrorReplay(settings, application, errors, {source: 2})
        return replay.run(lambda done: progress.append(done.sent.total()))

    assert run().sent.total() == 10
    assert len(progress) >= 3, "several transactions"
    assert len(epochs) == len(progress) + 1, "each has its own epoch; the last one found nothing"
    fail(settings, source, errors, range(10, 13))
    assert run().sent.total() == 3
    assert run().sent.total() == 0
    result = read_topic(settings, source)
    assert [len(messages) for messages in result.values()] == [7, 6]
    values = sorted(int(m.value() or b"") for messages in result.values() for m in messages)
    assert values == list(range(13)), "each once"


def fail(settings: KafkaSettings, source: str, errors: str, numbers: range) -> None:
    """Write error reports as a job does."""
    producer = Producer(settings.producer())
    for number in numbers:
        headers: list[tuple[str, str | bytes | None]] = [
            *(("error.class", b"ValueError"), ("error.message", b"negative"), ("error.stage", b"process")),
            *(("error.topic", source.encode()), ("error.partition", b"%d" % (number % 2))),
            *(("error.offset", b"%d" % number), ("error.timestamp", b"5")),
        ]
        producer.produce(errors, b"%d" % number, b"key", headers=headers)
    assert producer.flush(30) == 0
