"""Clients of the in-memory broker, with the part of confluent_kafka's API that the runtime uses."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.runtime.simulator.broker import Broker, Record
from tests.runtime.simulator.coordinator import Fenced, InvalidTransaction, Place
from tests.runtime.simulator.history import Attempt

_RETRY_SECONDS = 0.25
"""Time after which a client retries a request whose connection was lost."""

T = TypeVar("T")

At = Callable[[str], None]
"""Called with the name of each point at which a fault may happen to a worker."""


def fenced_error() -> KafkaException:
    return KafkaException(KafkaError(KafkaError._FENCED, fatal=True))


class EndEvent:
    """Event of a consumer that reports the end of a partition, or an error of it."""

    def __init__(self, place: Place, offset: int, code: int = KafkaError._PARTITION_EOF) -> None:
        self._place = place
        self._offset = offset
        self._code = code

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError:
        return KafkaError(self._code)


class MemoryConsumer:
    """A read_committed consumer with partition end events and auto.offset.reset=error.

    Args:
        wait: Called with a number of seconds if there is nothing to read.
        fetch: Largest number of records of a partition per call.
    """

    def __init__(self, broker: Broker, at: At, wait: Callable[[float], None], fetch: int = 7) -> None:
        self._broker = broker
        self._at = at
        self._wait = wait
        self._fetch = fetch
        self._next: dict[Place, int] = {}
        self._reported: dict[Place, int] = {}
        self._paused: set[Place] = set()

    def assign(self, places: Iterable[TopicPartition]) -> None:
        self._next = {(p.topic, p.partition): p.offset for p in places}
        self._reported.clear()
        self._paused.clear()
        for place, offset in self._next.items():
            if offset == OFFSET_BEGINNING:
                self._next[place] = self._broker.partitions[place].low

    def consume(self, most: int, _seconds: float) -> list[Any]:
        self._at("read")
        records: list[Any] = []
        for place in self._next:
            if place not in self._paused and len(records) < most:
                records.extend(self._take(place, min(self._fetch, most - len(records))))
        return records

    def poll(self, seconds: float) -> Any:
        records = self.consume(1, 0)
        if not records:
            self._wait(seconds)
            records = self.consume(1, 0)
        return records[0] if records else None

    def _take(self, place: Place, most: int) -> list[Any]:
        partition, begin = self._broker.partitions[place], self._next[place]
        if self._broker.now < partition.answers_at:
            return []
        if not partition.low <= begin <= partition.end:
            return [EndEvent(place, begin, KafkaError._AUTO_OFFSET_RESET)]
        stable, records = partition.stable, list[Any]()
        index = bisect.bisect_left(partition.records, begin, key=lambda record: record.offset_)
        for record in partition.records[index:]:
            if record.offset_ >= stable:
                # What lies before it was compacted, or is the end of a transaction.
                self._next[place] = max(stable, begin)
                break
            if len(records) >= most:
                break
            self._next[place] = record.offset_ + 1
            if record.counts:
                records.append(record)
        else:
            self._next[place] = max(stable, begin)
        if not records and self._next[place] >= stable and self._reported.get(place) != stable:
            self._next[place] = max(stable, begin)
            self._reported[place] = stable
            records.append(EndEvent(place, self._next[place]))
        return records

    def seek(self, place: TopicPartition) -> None:
        self._next[place.topic, place.partition] = place.offset
        self._reported.pop((place.topic, place.partition), None)

    def pause(self, places: list[TopicPartition]) -> None:
        self._paused |= {(p.topic, p.partition) for p in places}

    def resume(self, places: list[TopicPartition]) -> None:
        self._paused -= {(p.topic, p.partition) for p in places}

    def committed(self, places: list[TopicPartition], _seconds: float) -> list[Any]:
        self._at("open.markers")
        answers = []
        for place in places:
            offset, metadata = self._broker.marked.get((place.topic, place.partition), (-1, ""))
            answers.append(
                SimpleNamespace(
                    topic=place.topic, partition=place.partition, offset=offset, metadata=metadata, error=None
                )
            )
        return answers

    def get_watermark_offsets(self, place: TopicPartition, timeout: float = 0, cached: bool = False) -> tuple[int, int]:
        partition = self._broker.partitions[place.topic, place.partition]
        return partition.low, partition.end

    def offsets_for_times(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        places_with_low = []
        for place in places:
            low = self._broker.partitions[place.topic, place.partition].low
            places_with_low.append(TopicPartition(place.topic, place.partition, low))
        return places_with_low

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        self._at("open.leaders")
        return SimpleNamespace(topics={})

    def consumer_group_metadata(self) -> object:
        return object()

    def commit(self, **_offsets: Any) -> None:
        return

    def close(self) -> None:
        return


class MemoryProducer:
    """A transactional producer."""

    def __init__(self, broker: Broker, name: str, at: At) -> None:
        self._broker = broker
        self._coordinator = broker.coordinator
        self._name = name
        self._at = at
        self._epoch = -1
        self._is_usable = True
        self._added: set[Place] = set()
        self._sequences: Counter[Place] = Counter()
        self._attempt = Attempt(name, -1)

    def init_transactions(self, _seconds: float) -> None:
        self._at("open.fence")
        self._epoch = self._send("InitProducerId", lambda: self._coordinator.init(self._name))
        self._at("open.fenced")

    def begin_transaction(self) -> None:
        self._at("commit.begin")
        if not self._is_usable:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self._is_usable = False
        self._added.clear()
        self._attempt = Attempt(self._name, self._epoch)
        self._broker.attempts.append(self._attempt)

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int = 0,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        self._at("commit.produce")
        place, name, epoch = (topic, partition), self._name, self._epoch
        if place not in self._added:
            self._send("AddPartitionsToTxn", lambda: self._coordinator.add_partition(name, epoch, place))
            self._added.add(place)
        sequence, attempt = self._sequences[place], self._attempt
        self._sequences[place] += 1
        sent = place, key, value, timestamp, headers
        self._send("Produce", lambda: self._broker.produce(name, epoch, sequence, sent, attempt))

    def send_offsets_to_transaction(self, places: list[TopicPartition], _group: object, _seconds: float) -> None:
        offsets = {(p.topic, p.partition): (p.offset, p.metadata or "") for p in places}
        name, epoch = self._name, self._epoch
        self._send("AddOffsetsToTxn", lambda: self._coordinator.add_offsets(name, epoch))
        self._send("TxnOffsetCommit", lambda: self._coordinator.commit_group_offsets(name, epoch, offsets))
        self._attempt.offsets.update({place: offset for place, (offset, _) in offsets.items()})

    def commit_transaction(self, _seconds: float) -> None:
        self._at("commit.before")
        self._end("committed")
        self._attempt.answer = "committed"
        self._at("commit.after")
        self._is_usable = True

    def abort_transaction(self, _seconds: float) -> None:
        self._end("aborted")
        self._attempt.answer = "aborted"

    def _end(self, state: str) -> None:
        name, epoch = self._name, self._epoch
        self._send("EndTxn", lambda: self._coordinator.end(name, epoch, state))

    def _send(self, kind: str, request: Callable[[], T]) -> T:
        """Send a request. After a lost connection, send it twice. The first copy may then arrive at any time."""
        broker = self._broker
        broker.now = max(broker.now, self._coordinator.ready_at)
        is_repeated = broker.late.keep(kind, request)
        if is_repeated:
            broker.now += _RETRY_SECONDS
            self._at("commit.repeated")
        try:
            return request()
        except Fenced as error:
            # The first copy of EndTxn may have committed it, before a new owner refused the second one.
            if kind != "EndTxn" or not is_repeated:
                self._attempt.answer = "fenced"
            raise fenced_error() from error
        except InvalidTransaction as error:
            raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE)) from error

    def flush(self, _seconds: float) -> int:
        return 0

    def poll(self, _seconds: float) -> int:
        return 0

    def purge(self) -> None:
        return

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        self._at("open.connect")
        return SimpleNamespace(topics={})

    def __len__(self) -> int:
        return 0


class MemoryAdmin:
    """Returns the ends of partitions, and deletes records."""

    def __init__(self, broker: Broker, at: At) -> None:
        self._broker = broker
        self._at = at

    def list_offsets(
        self, asked: Mapping[TopicPartition, object], isolation_level: IsolationLevel, request_timeout: float
    ) -> dict[TopicPartition, Future[Any]]:
        self._at("ends")
        is_committed = isolation_level == IsolationLevel.READ_COMMITTED
        ends = {}
        for place, wanted in asked.items():
            partition = self._broker.partitions[place.topic, place.partition]
            offset = partition.stable if is_committed else partition.end
            is_first = wanted is OffsetSpec.earliest()
            ends[place] = completed_future(SimpleNamespace(offset=partition.low if is_first else offset))
        return ends

    def describe_topics(self, topics: Any) -> dict[str, Future[Any]]:
        self._at("describe")
        counts = Counter(topic for topic, _ in self._broker.partitions)
        ids = self._broker.topic_ids
        return {
            topic: completed_future(SimpleNamespace(topic_id=ids[topic], partitions=range(counts[topic])))
            for topic in topics.topic_names
        }

    def delete_records(self, places: list[TopicPartition]) -> dict[TopicPartition, Future[Any]]:
        self._at("purge")
        for place in places:
            self._broker.delete_before((place.topic, place.partition), place.offset)
        return {place: completed_future(None) for place in places}


def completed_future(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


__all__ = ["EndEvent", "MemoryAdmin", "MemoryConsumer", "MemoryProducer", "Record", "fenced_error"]
