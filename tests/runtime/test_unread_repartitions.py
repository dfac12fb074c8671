"""A rescale stops if a removed sub-topology's repartition topic has unread records, because their keys change tasks."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from forebay.catalog import all_services
from forebay.kafka.settings import KafkaSettings
from forebay.processor.messages import Headers
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.maintenance import rescale
from forebay.runtime.maintenance.rescale import Rescale, merge_positions
from forebay.runtime.maintenance.unread_repartitions import former_repartitions, places_with_records
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers

TOPIC = "user-sessions-gone-repartition"
FORWARDED, ANNOUNCED = data_headers("a-0"), time_headers("a-0", TaskTime())


class Event:
    """A message, or an error event of a partition."""

    def __init__(self, partition: int, headers: Headers | None = None, error: int | None = None) -> None:
        self._partition, self._headers, self._error = partition, headers or [], error

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self._partition

    def key(self) -> None:
        return None

    value = key

    def headers(self) -> Headers:
        return self._headers

    def error(self) -> KafkaError | None:
        return None if self._error is None else KafkaError(self._error)


class Consumer:
    def __init__(self, *events: Event) -> None:
        self._events = list(events)
        self.assigned: list[list[int]] = []
        self.left: list[int] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned.append([partition.offset for partition in partitions])

    incremental_assign = assign

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self.left += [partition.partition for partition in partitions]

    def poll(self, _seconds: float) -> Event | None:
        return self._events.pop(0) if self._events else None

    def close(self) -> None:
        pass


def end(partition: int) -> Event:
    return Event(partition, error=KafkaError._PARTITION_EOF)


def places(*events: Event, consumer: Any = None) -> set[tuple[str, int]]:
    consumer = consumer or Consumer(*events)
    return places_with_records(consumer, {(TOPIC, 0): 7, (TOPIC, 1): 3})


def test_forwarded_records_wait_and_announcements_do_not() -> None:
    assert places(Event(0, ANNOUNCED), Event(1, FORWARDED), end(0)) == {(TOPIC, 1)}
    assert places(end(1), Event(0, ANNOUNCED), end(0)) == set()


def test_a_topic_that_was_created_again_is_read_from_its_beginning() -> None:
    consumer = Consumer(Event(0, error=KafkaError._AUTO_OFFSET_RESET), Event(0, FORWARDED), end(1))
    assert places(consumer=consumer) == {(TOPIC, 0)}
    assert (consumer.assigned, consumer.left) == ([[7, 3], [OFFSET_BEGINNING]], [0])


def test_a_broker_that_does_not_answer_is_reported() -> None:
    with pytest.raises(Unavailable, match="no answer from user-sessions-gone-repartition for 30 s"):
        places(end(0))


def test_only_repartition_topics_of_the_application_that_it_no_longer_reads_count() -> None:
    ends = tuple((topic, 0, 4) for topic in (TOPIC, "user-sessions-read-repartition", "x-y-repartition", "orders"))
    position = TaskPosition("c", 5, ends=ends)
    assert former_repartitions("user-sessions", [position], {"user-sessions-read-repartition"}) == {(TOPIC, 0): 4}


class Admin:
    def names(self) -> list[str]:
        return [TOPIC]


@pytest.mark.parametrize("headers", [FORWARDED, ANNOUNCED])
def test_a_rescale_stops_before_it_stages_anything(monkeypatch: pytest.MonkeyPatch, headers: Headers) -> None:
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere:1")
    monkeypatch.setattr(rescale, "TopicAdmin", lambda _kafka: Admin())
    job = Rescale(kafka, all_services()["user-sessions"], "user-sessions", {}, 1, 2)
    left = TaskPosition("c", 5, ends=((TOPIC, 0, 4), ("user_activity", 0, 9)), sub_topology="user_activity")
    monkeypatch.setattr(job, "_read", lambda _stage, _log: ([], [left]))
    monkeypatch.setattr(job, "_new_consumer", lambda: Consumer(Event(0, headers), end(0)))
    if headers == FORWARDED:
        with pytest.raises(StateConflict, match=f"{TOPIC}: records wait for a sub-topology that was removed"):
            list(job._records())
        return
    monkeypatch.setattr(job, "_sub_topology_records", lambda _stage, _tables, _positions, recreated: recreated)
    staged: list[Any] = list(job._records())
    assert staged == [TOPIC], "its offsets would be those of another topic once it is created again"


def test_a_global_table_that_is_not_read_starts_over_after_a_rescale() -> None:
    ends, stores = (("g", 0, 4), ("h", 0, 5), ("t", 0, 6)), (("g", "g"), ("h", "h"))
    position = TaskPosition("c", 5, ends=ends, global_stores=stores)
    merged = merge_positions([position], 0, 2, set(), {"h"})
    assert (merged.ends, merged.global_stores) == (ends[1:], stores[1:])
