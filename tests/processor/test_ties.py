"""At equal timestamps, records of tables come first, so that a lookup as of time t finds a row that is valid from t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from forebay.catalog import find_service
from forebay.job import load_job
from forebay.processor import Context
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Message
from forebay.stores.memory import MemoryTable
from forebay.testing import TestDriver
from forebay.testing.shown import PipedRecord
from price_join.model import FoodOrder, MenuPrice
from tests.runtime.task_records import CODECS, Number, Sum, Total

Arrived = list[tuple[str, MenuPrice | FoodOrder]]


def record(topic: str, offset: int, at: int) -> Message:
    return PipedRecord(topic, offset, b"k", f'["{topic}-{offset}", {at}, 1]'.encode(), at, [])


def order_of(streams: Sequence[Sequence[Message]], tables: frozenset[str]) -> list[str]:
    """Return the event ids of the streams' records, sorted by topic, in processing order."""
    taken: list[str] = []

    class Noting(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            taken.append(event.event_id)

    codec = next(iter(CODECS.inputs.values()))
    codecs = replace(CODECS, inputs=dict.fromkeys("abc", codec), tables=tables)
    TaskEngine(Noting(), codecs, MemoryTable(), EngineSettings(service="sums")).run(streams, clock=1_000)
    return taken


def test_tables_come_first_then_topic_then_partition() -> None:
    streams = [
        [record("a", 0, 10), record("a", 1, 20)],
        [record("b", 0, 10)],
        [record("b", 7, 10), record("b", 8, 20)],
        [record("c", 0, 10), record("c", 1, 11), record("c", 2, 20)],
    ]
    assert order_of(streams, frozenset("c")) == ["c-0", "a-0", "b-0", "b-7", "c-1", "c-2", "a-1", "b-8"]
    assert order_of(streams, frozenset()) == ["a-0", "b-0", "b-7", "c-0", "c-1", "a-1", "b-8", "c-2"]


def test_an_unusable_record_keeps_its_place_behind_its_predecessor() -> None:
    broken = PipedRecord("c", 1, b"k", b"rubbish", 0, [])
    streams = [[record("a", 0, 10)], [record("c", 0, 10), broken, record("c", 2, 10)]]
    assert order_of(streams, frozenset("c")) == ["c-0", "c-2", "a-0"]


@pytest.mark.parametrize("orders_first", [True, False])
def test_an_order_of_the_millisecond_of_a_price_is_billed_at_that_price(orders_first: bool) -> None:
    driver = TestDriver("price-join")
    price: Arrived = [("menu_prices", MenuPrice("soup", 3.0, 5)), ("menu_prices", MenuPrice("soup", 4.0, 10))]
    order: Arrived = [("food_orders", FoodOrder("o1", "ann", "soup", 2, 10))]
    records = [*order, *price] if orders_first else [*price, *order]
    assert load_job(find_service("price-join").job).tables == {"menu_prices"}
    (sent,) = driver.pipe_all((topic, "soup", event, event.timestamp) for topic, event in records)
    assert (sent.value.unit_price, sent.value.total, sent.value.price_valid_from) == (4.0, 8.0, 10)
