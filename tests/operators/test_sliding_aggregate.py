"""Sliding aggregates have the windows of Kafka Streams, with inclusive bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import Emission, SlidingAggregate
from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import SlidingWindows, Window
from tests.operators.cells import append, empty


def aggregate(bench: Bench, windows: SlidingWindows, emission: Emission) -> SlidingAggregate[Cell, Cell]:
    keep = windows.retention_ms
    results = WindowStore("w", Cell, size_ms=1, retention_ms=keep)
    return SlidingAggregate(bench.open(results), windows, initial=empty, add=append, emission=emission)


SMALL_INPUT = [("1", 10), ("2", 10), ("3", 14), ("4", 15), ("5", 20), ("6", 22), ("7", 30)]
"""KStreamSlidingWindowAggregateTest.testAggregateSmallInput: difference 10, grace 5."""

UPDATES = {
    0: [("1", 10), ("12", 10)],
    4: [("123", 14)],
    5: [("1234", 15)],
    10: [("12345", 20)],
    11: [("3", 14), ("34", 15), ("345", 20)],
    12: [("3456", 22)],
    15: [("4", 15), ("45", 20), ("456", 22)],
    16: [("5", 20), ("56", 22)],
    20: [("567", 30)],
    21: [("6", 22), ("67", 30)],
    23: [("7", 30)],
}
FINALS = {0: [("12", 10)], 4: [("123", 14)], 5: [("1234", 15)], 10: [("12345", 20)], 11: [("345", 20)]} | {
    12: [("3456", 22)]
}


@pytest.mark.parametrize(("emission", "expected"), [(Emission.UPDATES, UPDATES), (Emission.FINAL, FINALS)])
def test_the_windows_are_those_of_kafka_streams(
    bench: Bench, emission: Emission, expected: dict[int, list[tuple[str, int]]]
) -> None:
    sums = aggregate(bench, SlidingWindows(10, grace_ms=5), emission)
    came: dict[int, list[tuple[str, int]]] = {}
    for value, ts in SMALL_INPUT:
        for result in sums.process("A", Cell(value), ts, ts).results:
            assert result.window.end == result.window.start + 10
            came.setdefault(result.window.start, []).append(
                (result.value.json if result.value else "", result.timestamp)
            )
    assert came == expected


def test_an_update_has_the_row_that_it_replaces(bench: Bench) -> None:
    sums = aggregate(bench, SlidingWindows(10), Emission.UPDATES)
    assert sums.process("k", Cell("a"), 20, 20).before == (None,)
    outcome = sums.process("k", Cell("b"), 20, 20)
    assert (outcome.before, [r.value for r in outcome.updates]) == ((Stamped(Cell("a"), 20),), [Cell("ab")])


@pytest.mark.parametrize(("now", "finals"), [(15, 0), (16, 1)])
def test_a_window_closes_after_end_plus_grace(bench: Bench, now: int, finals: int) -> None:
    sums = aggregate(bench, SlidingWindows(3, grace_ms=5), Emission.FINAL)
    assert sums.process("k", Cell("a"), 10, 10).closes_at == 16
    assert sums.next_close() == 16
    assert len(sums.close(now)) == finals
    assert sums.process("k", Cell("b"), 10, now).refused == finals


def test_a_record_that_no_open_window_can_hold_is_late(bench: Bench) -> None:
    sums = aggregate(bench, SlidingWindows(3, grace_ms=5), Emission.UPDATES)
    assert sums.process("k", Cell("a"), 10, 18).updates == ()
    outcome = sums.process("k", Cell("a"), 10, 19)
    assert (outcome.updates, outcome.refused, outcome.late_by_ms) == ((), 1, 1)


def test_a_store_that_keeps_too_little_is_refused() -> None:
    windows = SlidingWindows(10, grace_ms=1)
    results = WindowStore("w", Cell, size_ms=1, retention_ms=22)
    with pytest.raises(ValueError, match=r"store w: .* at least 23 ms"):
        SlidingAggregate(results, windows, initial=empty, add=append)


def test_records_are_added_in_the_order_of_arrival(bench: Bench) -> None:
    """As in Kafka Streams, a new window may begin with the aggregate of its neighbor."""
    sums = aggregate(bench, SlidingWindows(5, 100), Emission.UPDATES)
    newest: dict[int, str] = {}
    for value, ts in (("1", 0), ("2", 2), ("3", 4), ("4", 0), ("5", 2), ("6", 2), ("7", 0), ("8", 7)):
        for result in sums.process("A", Cell(value), ts, 7).updates:
            newest[result.window.start] = result.value.json if result.value else ""
    assert newest == {0: "1234567", 1: "2356", 2: "23568", 3: "38", 5: "8"}


@settings(deadline=None, max_examples=150)
@given(
    difference=st.integers(0, 8),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-15, 15)), max_size=25),
)
def test_at_any_order_each_set_of_records_that_close_has_its_window(
    difference: int, records: list[tuple[str, int]]
) -> None:
    """The grace exceeds all record delays, so that no window rejects a record."""
    windows = SlidingWindows(difference, 1_000)
    came: dict[str, list[int]] = {}
    now = 0
    with open_bench(Backend.IN_MEMORY) as bench:
        sums = aggregate(bench, windows, Emission.BOTH)
        for key, step in records:
            ts = max(0, now + step)
            now = max(now, ts)
            came.setdefault(key, []).append(ts)
            sums.process(key, Cell("x"), ts, now)
            bench.commit()
        finals = {(r.key, r.window): len(r.value.json) if r.value else 0 for r in sums.close(now + 2_000)}
    expected: dict[tuple[str, Window], int] = {}
    for key, times in came.items():
        for start in {max(0, ts - difference) for ts in times} | {ts + 1 for ts in times}:
            held = sum(start <= ts <= start + difference for ts in times)
            if held:
                expected[key, Window(start, start + difference)] = held
    assert finals == expected
