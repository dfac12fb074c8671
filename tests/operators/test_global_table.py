"""In a join with a global table, a record of any key is joined with the row that it names."""

from __future__ import annotations

import pytest

from forebay.operators import GlobalTable, GlobalTableJoin, Join, Result
from forebay.stores.keyvalue import KeyValueStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell
from tests.operators.cells import pair


def country_of(_: str, order: Cell) -> str | None:
    return order.json[:2] or None


def open_join(bench: Bench, kind: Join) -> tuple[GlobalTable[Cell], GlobalTableJoin[Cell, Cell, Cell]]:
    table = GlobalTable(bench.open(KeyValueStore("countries", Cell)))
    return table, GlobalTableJoin(table, kind, country_of, pair)


def test_a_record_is_joined_with_the_current_row_that_it_names(bench: Bench) -> None:
    table, join = open_join(bench, Join.INNER)
    table.update("nl", Cell("Netherlands"))
    assert join.process("order-1", Cell("nl"), 5) == [Result("order-1", Cell("nlNetherlands"), 5)]
    table.update("nl", Cell("NL"))
    bench.commit()
    assert join.process("order-2", Cell("nl"), 3) == [Result("order-2", Cell("nlNL"), 3)]


def test_without_a_row_an_inner_join_emits_nothing_and_a_left_join_emits_the_record(bench: Bench) -> None:
    table, inner = open_join(bench, Join.INNER)
    left = GlobalTableJoin(table, Join.LEFT, country_of, pair)
    table.update("nl", Cell("Netherlands"))
    table.update("nl", None)
    for value in (Cell("nl"), Cell("")):
        assert inner.process("k", value, 1) == []
        assert left.process("k", value, 1) == [Result("k", Cell(f"{value.json}-"), 1)]


def test_a_null_value_is_ignored(bench: Bench) -> None:
    assert open_join(bench, Join.LEFT)[1].process("k", None, 1) == []


def test_an_outer_join_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match=r"store countries: .* joined outer with a global table; use inner or left"):
        open_join(bench, Join.OUTER)
