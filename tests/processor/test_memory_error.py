"""If memory runs out, the cycle fails and is repeated. No record goes to .errors."""

from __future__ import annotations

import pytest

from forebay.processor import Context
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import Number, Sum, Total


class Hungry(Sum):
    full = True

    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if Hungry.full and event.amount == 3:
            raise MemoryError


def test_nothing_is_committed_and_nothing_goes_to_errors() -> None:
    bench = GroupBench(Hungry)
    bench.feed(("a", 10, 1), ("a", 20, 3))
    with pytest.raises(MemoryError):
        bench.run()
    assert bench.positions() == []
    bench.group.abandon()
    Hungry.full = False
    bench.run()
    assert bench.errors() == []
    assert bench.outputs() == [("a", Total(1, 1)), ("a", Total(4, 2))]
