"""Every task reads a global table, but a bad record of it is reported only once, and no task stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.codec import DecodeError
from forebay.formats import Format
from forebay.processor.arrivals import RefusedTime
from forebay.runtime.changelog.topics import internal_topic
from forebay.testing import TestDriver
from tests.dsl.driving import Driven


def in_two_sub_topologies(t: Topology, price: Any = int) -> None:
    prices, orders = t.global_table("prices", price, store="prices"), t.stream("orders", str)
    orders.left_join(prices, lambda _, price: str(price), str, key_of=lambda _, what: what).to("at-once")
    by_value = orders.select_key(lambda _, what: what, str).repartition("by-value")
    by_value.left_join(prices, lambda _, price: str(price), str, key_of=lambda key, _: key).to("later")


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_bad_record_is_reported_once(tasks: int) -> None:
    driver = Driven(in_two_sub_topologies, tasks).driver
    driver.pipe("tea", 5, "prices")
    for key, value in ((b"tea", b"bad"), (b"\xff", bytes(8)), (None, bytes(8))):
        driver.pipe_bytes(key, value, topic="prices")
    assert [(failure.key, failure.value) for failure in driver.errors] == [
        (b"tea", b"bad"),
        (b"\xff", bytes(8)),
        (None, bytes(8)),
    ]
    driver.restart()
    assert len(driver.errors) == 3
    for customer in "abcdef":
        sent = driver.pipe(customer, "tea", "orders")
        assert [(record.topic, record.value) for record in sent] == [("at-once", "5"), ("later", "5")]


def test_second_sub_topology_reports_bad_records_that_the_first_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codec = Changed()
    driver = Driven(lambda t: in_two_sub_topologies(t, Format("changed", int, lambda _contracts: codec)), 2).driver
    topics = driver._loop.topics
    monkeypatch.setattr(topics, "forget_used", lambda positions: None)
    driver.pipe_bytes(b"tea", b"old", topic="prices")
    assert driver.errors == []
    # The next release can't read the record, and its second sub-topology has not read the table yet.
    codec.reads_old = False
    ((at, place),) = ((end[2], end[:2]) for end in driver.sub_topologies[0].state_tasks[0].position.ends if end[2])
    for (internal, number), position in list(topics.positions.items()):
        if internal == internal_topic("driven", 1):
            ends = tuple(end for end in position.ends if end[0] != "prices")
            topics.positions[internal, number] = replace(position, ends=ends)
    driver.restart()
    assert [(failure.key, failure.value) for failure in driver.errors] == [(b"tea", b"old")]
    assert reports_of(driver, 1) == [((*place, at),), ()], "the first task's, as long as its position exists"
    driver.restart()
    driver.pipe_bytes(b"tea", b"worse", topic="prices")
    assert [failure.value for failure in driver.errors] == [b"old", b"worse"], "the first one reports what comes now"
    assert reports_of(driver, 1) == [((*place, at),), ()]


def reports_of(driver: TestDriver, part: int) -> list[object]:
    return [task.position.reports for task in driver.sub_topologies[part].state_tasks]


class Changed:
    """A codec whose later release (`reads_old` is False) can't read some records."""

    is_frozen, reads_old = True, True

    def encode(self, record: int) -> bytes:
        return record.to_bytes(8)

    def decode(self, data: bytes) -> int:
        if len(data) != 8 and not (data == b"old" and self.reads_old):
            raise DecodeError("no value")
        return int.from_bytes(data)


class Short:
    """A codec that fails after its first record, because of a problem of the reading task."""

    is_frozen = True

    def __init__(self, cause: Exception) -> None:
        self.decoded, self.cause = 0, cause

    def encode(self, record: int) -> bytes:
        return record.to_bytes(8)

    def decode(self, data: bytes) -> int:
        self.decoded += 1
        if self.decoded > 1:
            raise DecodeError("no value") from self.cause
        return int.from_bytes(data)


def with_short_memory(cause: Exception) -> TestDriver:
    codec = Short(cause)
    short = Format("short", int, lambda _contracts: codec)

    def build(t: Topology) -> None:
        prices, orders = t.global_table("prices", short, store="prices"), t.stream("orders", str)
        orders.left_join(prices, lambda _, price: str(price), str, key_of=lambda _, what: what).to("results")

    return Driven(build, 3).driver


def test_a_record_that_fails_in_later_tasks_only_is_reported_by_them() -> None:
    driver = with_short_memory(RefusedTime())
    driver.pipe_bytes(b"tea", bytes(8), topic="prices")
    assert [failure.key for failure in driver.errors] == [b"tea", b"tea"]


def test_memory_error_in_a_codec_is_not_blamed_on_the_record() -> None:
    with pytest.raises(MemoryError):
        with_short_memory(MemoryError()).pipe_bytes(b"tea", bytes(8), topic="prices")


def test_a_bad_record_of_another_topic_is_reported_by_every_task() -> None:
    driver = Driven(in_two_sub_topologies, 3).driver
    for key in (b"a", b"b", b"c", b"d"):
        driver.pipe_bytes(key, b"\xff", topic="orders")
    assert [failure.key for failure in driver.errors] == [b"a", b"b", b"c", b"d"]
