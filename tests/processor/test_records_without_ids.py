"""A record type may lack event_id. None of its records is dropped as a duplicate then."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.processor import Context, Processor
from forebay.processor.codecs import Codecs
from forebay.stores import KeyValueStore
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, TOPIC, JsonCodec, Number, Total


@dataclass(frozen=True, slots=True)
class Plain:
    """A number without an id."""

    timestamp: int
    amount: int


class PlainSums(Processor[Plain, Total]):
    totals = KeyValueStore("totals", Total)

    def process(self, event: Plain, ctx: Context[Total]) -> None:
        known = self.totals.get(ctx.key) or Total(0, 0)
        self.totals.put(ctx.key, Total(known.amount + event.amount, known.count + 1))


def test_equal_records_without_ids_are_not_dropped() -> None:
    sums = TestDriver(PlainSums(), Codecs({TOPIC: JsonCodec(Plain)}, CODECS.stores, CODECS.outputs))
    for _ in range(3):
        sums.pipe("a", Plain(50, 7))
    assert sums.errors == []
    assert (sums.store("totals"), sums.duplicates) == ({"a": Total(21, 3)}, 0)


def test_a_record_with_the_field_is_recognized_as_before() -> None:
    assert PlainSums().event_id(Number("e1", 50, 7)) == "e1"  # type: ignore[arg-type]
