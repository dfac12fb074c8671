"""Operators work in a processor: `init` creates them on the bound stores, and a failure rolls their state back."""

from __future__ import annotations

from forebay.operators import Deduplicate, Filter, GlobalTable, GlobalTableJoin, Join, Rekey, StreamAggregate, reducing
from forebay.processor import Context, Processor
from forebay.processor.codecs import Codecs
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.testing import TestDriver
from forebay.testing.cell import Cell, CellCodec
from tests.operators.cells import join_texts, pair

CELLS = CellCodec()


class Enriched(Processor[Cell, Cell]):
    """A value `table:row` updates the table. Others are joined with it and aggregated by their last letter."""

    seen = TtlKeyValueStore("seen", Cell, ttl_ms=100)
    rows = KeyValueStore("rows", Cell)
    texts = TimestampedKeyValueStore("texts", Cell)

    def init(self) -> None:
        self.table = GlobalTable(self.rows)
        self.once = Deduplicate(self.seen, lambda _, value: value.json)
        self.enrich = GlobalTableJoin(self.table, Join.LEFT, lambda key, _: key, pair)
        self.collect = StreamAggregate(self.texts, reducing(lambda one, two: join_texts("", one, two)))

    def timestamp(self, event: Cell) -> int:
        return 5

    def event_id(self, event: Cell) -> str | None:
        return None

    def process(self, event: Cell, ctx: Context[Cell]) -> None:
        if event.json.startswith("table:"):
            self.table.update(ctx.key, Cell(event.json[6:]))
            return
        records = self.once.process(ctx.key, event, ctx.timestamp)
        for operator in (Filter[Cell](lambda _, value: value.json != "dull"), self.enrich):
            records = [out for key, value, ts in records for out in operator.process(key or "", value, ts)]
        for record in records:
            for key, value, ts in Rekey[Cell](lambda _, value: value.json[-1]).process(ctx.key, *record[1:]):
                for result in self.collect.process(key or "", value, ts):
                    ctx.forward(result.value, result.key, result.timestamp)
        if event.json == "broken":
            raise ValueError("no good")


def driver() -> TestDriver:
    stores = dict.fromkeys(("seen", "rows", "texts"), CELLS)
    return TestDriver(Enriched(), Codecs({"in": CELLS}, stores, {"out": CELLS}))


def test_operators_work_on_the_processors_stores() -> None:
    run = driver()
    run.pipe("nl", Cell("table:Holland"))
    run.restart()
    sent = [run.pipe("nl", Cell(text)) for text in ("a", "a", "dull", "b")]
    assert [[(o.key, o.value) for o in item] for item in sent] == [
        [("d", Cell("aHolland"))],
        [],
        [],
        [("d", Cell("aHollandbHolland"))],
    ]


def test_a_record_that_fails_leaves_no_trace_in_any_operator() -> None:
    run = driver()
    assert run.pipe("nl", Cell("broken")) == []
    assert [failure.headers["error.message"] for failure in run.errors] == ["no good"]
    assert run.store("seen") == run.store("texts") == {}
