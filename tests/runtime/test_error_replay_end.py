"""A replay of `.errors` ends even if its records fail again. The next replay sends those."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from forebay.kafka.settings import KafkaSettings
from forebay.runtime.maintenance import error_replay, failed_topic
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed

ERRORS, SOURCE = "job.errors", "events"
MOST_TRANSACTIONS = 20


@dataclass
class Message:
    """A record of `.errors`, or the end-of-partition event at `offset_`."""

    partition_: int
    offset_: int
    error_: KafkaError | None = None

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def error(self) -> KafkaError | None:
        return self.error_

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes:
        return b"poison"

    def headers(self) -> list[tuple[str, bytes]]:
        return [
            *(("error.class", b"ValueError"), ("error.message", b"negative"), ("error.stage", b"process")),
            *(("error.topic", SOURCE.encode()), ("error.partition", b"0"), ("error.timestamp", b"5")),
        ]


@dataclass
class PoisonedJob:
    """A broker and a running job, in which each replayed record fails at once.

    Args:
        ends: End offset of each partition of `.errors`.
    """

    ends: list[int]
    replayed: dict[int, int] = field(default_factory=dict)
    transactions: int = 0

    def consumer(self, _settings: object) -> Any:
        return FakeConsumer(self)

    def producer(self, _settings: object) -> Any:
        return FakeProducer(self)


class FakeConsumer:
    def __init__(self, job: PoisonedJob) -> None:
        self._job = job
        self._next: dict[int, int] = {}

    def list_topics(self, topic: str, timeout: float) -> Any:
        partitions = dict.fromkeys(range(len(self._job.ends)))
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})

    def get_watermark_offsets(self, place: TopicPartition, _seconds: float) -> tuple[int, int]:
        return 0, self._job.ends[place.partition]

    def offsets_for_times(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition(place.topic, place.partition, 0) for place in asked]

    def committed(self, asked: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [
            TopicPartition(ERRORS, place.partition, self._job.replayed.get(place.partition, -1001)) for place in asked
        ]

    def assign(self, places: list[TopicPartition]) -> None:
        self._next = {place.partition: place.offset for place in places}

    def consume(self, count: int, _seconds: float) -> list[Message]:
        messages = []
        for number, begin in self._next.items():
            end = min(self._job.ends[number], begin + count)
            messages += [Message(number, offset) for offset in range(begin, end)]
            self._next[number] = end
            if end == self._job.ends[number]:
                messages.append(Message(number, end, KafkaError(KafkaError._PARTITION_EOF)))
        return messages

    def consumer_group_metadata(self) -> object:
        return None

    def close(self) -> None: ...


class FakeProducer:
    def __init__(self, job: PoisonedJob) -> None:
        self._job = job
        self._sent = 0
        self._places: list[TopicPartition] = []

    def init_transactions(self, _seconds: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def poll(self, _seconds: float) -> int:
        return 0

    def produce(self, *_record: object, **_more: object) -> None:
        self._sent += 1

    def send_offsets_to_transaction(self, places: list[TopicPartition], _group: object, _seconds: float) -> None:
        self._places = places

    def flush(self, _seconds: float) -> None: ...

    def commit_transaction(self, _seconds: float) -> None:
        self._job.transactions += 1
        assert self._job.transactions < MOST_TRANSACTIONS, "the replay sends what it caused, without end"
        self._job.replayed.update({place.partition: place.offset for place in self._places})
        self._job.ends[0] += self._sent


def replay(job: PoisonedJob, monkeypatch: pytest.MonkeyPatch, batch: int) -> Replayed:
    monkeypatch.setattr(failed_topic, "_BATCH", batch)
    monkeypatch.setattr(failed_topic, "Consumer", job.consumer)
    monkeypatch.setattr(error_replay, "Producer", job.producer)
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere:1")
    begin = None if job.replayed else 0
    return ErrorReplay(kafka, "job", ERRORS, {SOURCE: 1}, begin).run(lambda _: None)


@pytest.mark.parametrize("batch", [1, 3, 100])
@pytest.mark.parametrize("ends", [[1], [5], [0, 2], [4, 3]], ids=str)
def test_records_that_fail_again_during_a_run_are_for_the_next_run(
    monkeypatch: pytest.MonkeyPatch, ends: list[int], batch: int
) -> None:
    job = PoisonedJob(list(ends))
    for _ in range(2):
        begun = job.ends[:]
        waiting = sum(begun) - sum(job.replayed.values())
        job.transactions = 0
        assert replay(job, monkeypatch, batch).sent.total() == waiting == sum(ends)
        assert {number: job.replayed.get(number, 0) for number in range(len(ends))} == dict(enumerate(begun))
        assert sum(job.ends) == sum(begun) + waiting, "what failed again waits"
