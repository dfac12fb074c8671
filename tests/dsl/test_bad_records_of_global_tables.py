"""Every task reads a global table; a record of it that fails is reported once, and no task stops."""

from __future__ import annotations

import pytest

from forebay.builder import Topology
from forebay.codec import DecodeError
from forebay.formats import Format
from forebay.processor.arrivals import RefusedTime
from forebay.testing import TestDriver
from tests.dsl.driving import Driven


def in_two_sub_topologies(t: Topology) -> None:
    prices, orders = t.global_table("prices", int, store="prices"), t.stream("orders", str)
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


class Short:
    """A codec that fails after its first record, for a reason of the task that reads."""

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


def test_a_codec_without_memory_is_not_the_fault_of_a_record_among_others() -> None:
    with pytest.raises(MemoryError):
        with_short_memory(MemoryError()).pipe_bytes(b"tea", bytes(8), topic="prices")


def test_a_bad_record_of_another_topic_is_reported_by_every_task() -> None:
    driver = Driven(in_two_sub_topologies, 3).driver
    for key in (b"a", b"b", b"c", b"d"):
        driver.pipe_bytes(key, b"\xff", topic="orders")
    assert [failure.key for failure in driver.errors] == [b"a", b"b", b"c", b"d"]
