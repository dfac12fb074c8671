"""Streams can be counted and reduced by key. The same aggregates work in windows, sessions and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from forebay.operators import (
    Change,
    Emission,
    Fold,
    Result,
    SessionAggregate,
    StreamAggregate,
    TableAggregate,
    WindowAggregate,
    counting,
    reducing,
)
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell
from forebay.time import tumbling
from forebay.time.sessions import SessionWindows
from tests.operators.cells import join_texts


@dataclass(frozen=True, slots=True)
class Number:
    value: int


class NumberCodec:
    def encode(self, record: Number) -> bytes:
        return str(record.value).encode()

    def decode(self, data: bytes) -> Number:
        return Number(int(data))


LONGEST: Fold[Cell, Cell] = reducing(lambda total, value: value if len(value.json) > len(total.json) else total)


def counts(bench: Bench) -> StreamAggregate[Cell, Number]:
    return StreamAggregate(bench.open(TimestampedKeyValueStore("counts", Number), NumberCodec()), counting(Number))


def test_it_counts_every_record_of_a_key_and_carries_the_largest_timestamp(bench: Bench) -> None:
    count = counts(bench)
    for key, ts, total, newest in (("a", 5, 1, 5), ("a", 3, 2, 5), ("b", 4, 1, 4), ("a", 9, 3, 9)):
        assert count.process(key, Cell("x"), ts) == [Result(key, Number(total), newest)]
        bench.commit()


def test_a_null_value_is_ignored(bench: Bench) -> None:
    assert counts(bench).process("a", None, 5) == []


def test_the_first_value_is_its_own_reduction(bench: Bench) -> None:
    longest = StreamAggregate(bench.open(TimestampedKeyValueStore("longest", Cell)), LONGEST)
    given = [longest.process("k", Cell(text), 1)[0].value for text in ("bb", "a", "ccc")]
    assert given == [Cell("bb"), Cell("bb"), Cell("ccc")]


def test_windows_and_sessions_take_the_same_folds(bench: Bench) -> None:
    store = bench.open(WindowStore("w", Number, size_ms=10, retention_ms=10), NumberCodec())
    fold = counting(Number)
    windows: WindowAggregate[Cell, Number] = WindowAggregate(store, tumbling(10), fold.initial, fold.add)
    assert [windows.process("k", Cell("x"), ts, ts).updates[0].value for ts in (1, 2, 11)] == [
        Number(1),
        Number(2),
        Number(1),
    ]
    joined = reducing(lambda one, two: join_texts("", one, two))
    assert joined.merge is not None
    sessions = SessionAggregate(
        bench.open(SessionStore("s", Cell, retention_ms=110)),
        SessionWindows(10, 100),
        joined.initial,
        joined.add,
        joined.merge,
        emission=Emission.UPDATES,
    )
    for ts, text in ((0, "a"), (20, "b")):
        sessions.process("k", Cell(text), ts, 20)
    merged = sessions.process("k", Cell("c"), 10, 20)
    assert merged.updates[-1].value == Cell("abc")


def test_table_aggregates_use_the_subtractor(bench: Bench) -> None:
    fold = counting(Number)
    assert fold.subtract is not None
    votes: TableAggregate[Cell, Cell, Number] = TableAggregate(
        bench.open(TimestampedKeyValueStore("votes", Number), NumberCodec()),
        lambda _, dish: (dish.json, dish),
        fold.initial,
        fold.add,
        fold.subtract,
    )
    votes.process(Change("anna", Cell("curry"), None, 1))
    given = votes.process(Change("anna", Cell("pasta"), Cell("curry"), 2))
    assert given == [Result("curry", Number(0), 2), Result("pasta", Number(1), 2)]


def test_a_reduction_without_a_remover_has_none() -> None:
    assert LONGEST.subtract is None
    assert reducing(lambda one, _: one, lambda total, _: total).subtract is not None


@pytest.mark.parametrize("record", [Cell, Result, int])
def test_a_record_that_can_not_hold_a_count_is_refused(record: Any) -> None:
    with pytest.raises(TypeError, match=f"{record.__name__} can't hold a count: give a record with one"):
        counting(record)
