"""Filter, map, flat map and select key: which records they forward, and how they handle tombstones."""

from __future__ import annotations

from forebay.operators import Filter, FlatMap, Map, Rekey, Result
from forebay.testing.cell import Cell

EVEN: Filter[Cell] = Filter(lambda _, value: int(value.json) % 2 == 0)
DOUBLE: Map[Cell, Cell] = Map(lambda key, value: Cell(f"{key}{value.json}{value.json}"))
LETTERS: FlatMap[Cell, Cell] = FlatMap(lambda _, value: [Cell(letter) for letter in value.json])
BY_VALUE: Rekey[Cell] = Rekey(lambda key, value: f"{value.json}/{key}")


def test_a_filter_forwards_only_matching_records() -> None:
    assert EVEN.process("k", Cell("2"), 7) == [Result("k", Cell("2"), 7)]
    assert EVEN.process("k", Cell("3"), 7) == []


def test_a_map_changes_the_value_alone() -> None:
    assert DOUBLE.process("k", Cell("a"), 7) == [Result("k", Cell("kaa"), 7)]


def test_a_flat_map_emits_any_number_of_records_in_order() -> None:
    assert LETTERS.process("k", Cell("ba"), 7) == [Result("k", Cell("b"), 7), Result("k", Cell("a"), 7)]
    assert LETTERS.process("k", Cell(""), 7) == []


def test_a_rekey_changes_the_key_alone() -> None:
    assert BY_VALUE.process("k", Cell("v"), 7) == [Result("v/k", Cell("v"), 7)]


def test_every_operator_except_rekey_forwards_tombstones() -> None:
    for operator in (EVEN, DOUBLE, LETTERS):
        assert operator.process("k", None, 7) == [Result("k", None, 7)]
    assert BY_VALUE.process("k", None, 7) == []
