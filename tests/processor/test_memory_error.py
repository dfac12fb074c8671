"""A record is never blamed for memory that ran out: the batch fails and is computed again."""

from __future__ import annotations

import pytest

from forebay.processor import Context
from tests.runtime.task_harness import Bench, Number, Sum, Total


class Hungry(Sum):
    full = True

    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if Hungry.full and event.amount == 3:
            raise MemoryError


def test_the_batch_fails_and_nothing_goes_to_errors() -> None:
    bench = Bench(Hungry)
    bench.feed(("a", 10, 1), ("a", 20, 3))
    batch = bench.plan()
    with pytest.raises(MemoryError):
        bench.attempt(batch)
    assert bench.kafka.transactions == []
    Hungry.full = False
    assert bench.run(batch).errors == 0
    assert bench.kafka.outputs() == [("a", Total(1, 1)), ("a", Total(4, 2))]
