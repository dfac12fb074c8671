"""Windowed aggregates reject late records, and emit results on every change, on close, or both."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import Emission, WindowAggregate, WindowResult
from forebay.stores.window import WindowStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import TimeWindows, Window, hopping, tumbling
from tests.operators.cells import append, empty

Aggregate = WindowAggregate[Cell, Cell]


def aggregate(bench: Bench, windows: TimeWindows, emission: Emission = Emission.UPDATES) -> Aggregate:
    store = WindowStore("w", Cell, size_ms=windows.size_ms, retention_ms=windows.retention_ms)
    return WindowAggregate(bench.open(store), windows, empty, append, emission=emission)


def test_a_window_accepts_until_end_plus_grace_and_then_refuses(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10, grace_ms=5))
    assert counts.process("k", Cell("a"), 0, 14).refused == 0
    late = counts.process("k", Cell("b"), 9, 15)
    assert (late.refused, late.late_by_ms, late.results) == (1, 0, ())
    assert counts.process("k", Cell("b"), 9, 17).late_by_ms == 2


def test_each_refused_hopping_window_counts_and_the_others_are_updated(bench: Bench) -> None:
    counts = aggregate(bench, hopping(10, 5))
    outcome = counts.process("k", Cell("a"), 7, 10)
    assert outcome.refused == 1
    assert [result.window for result in outcome.results] == [Window(5, 15)]


def test_the_result_timestamp_is_the_largest_in_the_window(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10))
    assert [counts.process("k", Cell("a"), ts, 9).results[0].timestamp for ts in (3, 5, 4)] == [3, 5, 5]


@pytest.mark.parametrize(("now", "finals"), [(14, 0), (15, 1)])
def test_a_window_is_final_at_exactly_end_plus_grace(bench: Bench, now: int, finals: int) -> None:
    counts = aggregate(bench, tumbling(10, grace_ms=5), Emission.FINAL)
    counts.process("k", Cell("a"), 9, 9)
    assert len(counts.close(now)) == finals
    assert counts.close(now) == []


def test_finals_are_ordered_by_start_then_key_and_none_is_lost_when_time_jumps(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10, grace_ms=5), Emission.FINAL)
    for key, ts in (("b", 5), ("a", 1), ("b", 14), ("a", 12)):
        counts.process(key, Cell("x"), ts, ts)
    bench.commit()
    counts = aggregate(bench, tumbling(10, grace_ms=5), Emission.FINAL)
    outcome = counts.process("c", Cell("y"), 1_000_000, 1_000_000)
    assert [(r.key, r.window.start) for r in outcome.finals] == [("a", 0), ("b", 0), ("a", 10), ("b", 10)]


def test_an_idle_close_moves_acceptance_too_so_that_nothing_is_final_twice(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10), Emission.BOTH)
    counts.process("k", Cell("a"), 5, 5)
    assert [r.value for r in counts.close(10)] == [Cell("a")]
    outcome = counts.process("k", Cell("b"), 6, 10)
    assert (outcome.refused, outcome.results) == (1, ())
    assert counts.close(50) == []


def test_an_open_window_is_not_emitted_with_those_that_close(bench: Bench) -> None:
    counts = aggregate(bench, hopping(10, 5), Emission.FINAL)
    counts.process("k", Cell("a"), 7, 7)
    assert [r.window for r in counts.close(10)] == [Window(0, 10)]
    assert [r.window for r in counts.close(15)] == [Window(5, 15)]


def test_emission_both_emits_updates_and_finals(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10), Emission.BOTH)
    assert len(counts.process("k", Cell("a"), 5, 5).updates) == 1
    outcome = counts.process("k", Cell("b"), 10, 10)
    assert (len(outcome.updates), len(outcome.finals)) == (1, 1)


def test_the_next_close_is_that_of_the_earliest_window_not_emitted_yet(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10, grace_ms=5), Emission.FINAL)
    assert counts.next_close() is None
    counts.process("k", Cell("a"), 21, 21)
    counts.process("k", Cell("a"), 19, 21)
    assert counts.next_close() == 25
    assert len(counts.close(25)) == 1
    assert counts.next_close() == 35
    bench.commit()
    assert counts.next_close() == 35
    assert len(counts.close(1000)) == 1
    assert counts.next_close() is None


def test_windows_closed_by_a_rolled_back_record_are_still_to_be_closed(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10), Emission.FINAL)
    counts.process("k", Cell("a"), 1, 1)
    bench.commit()
    assert len(counts.process("k", Cell("b"), 10, 10).finals) == 1
    bench.roll_back()
    assert counts.next_close() == 10
    assert len(counts.process("k", Cell("b"), 10, 10).finals) == 1


def test_an_outcome_has_the_end_of_the_first_window_that_it_changed(bench: Bench) -> None:
    counts = aggregate(bench, hopping(10, 5, grace_ms=2), Emission.FINAL)
    assert counts.process("k", Cell("a"), 7, 7).closes_at == 12
    assert counts.process("k", Cell("a"), 7, 12).closes_at == 17
    assert counts.process("k", Cell("a"), 7, 17).closes_at is None


def test_without_finals_there_is_nothing_to_close(bench: Bench) -> None:
    counts = aggregate(bench, tumbling(10), Emission.UPDATES)
    assert counts.process("k", Cell("a"), 1, 1).closes_at is None
    assert counts.next_close() is None
    assert counts.close(1000) == []


def test_a_store_that_keeps_less_than_size_and_grace_is_refused(bench: Bench) -> None:
    store = WindowStore("w", Cell, size_ms=10, retention_ms=14)
    with pytest.raises(ValueError, match=r"store w: retention_ms 14 .* at least 15 ms"):
        WindowAggregate(store, tumbling(10, grace_ms=5), empty, append)
    WindowAggregate(WindowStore("w", Cell, size_ms=10, retention_ms=15), tumbling(10, grace_ms=5), empty, append)


@pytest.mark.long
@settings(deadline=None, max_examples=150)
@given(
    size=st.integers(1, 12),
    advance=st.integers(1, 12),
    grace=st.integers(0, 10),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-25, 30)), max_size=30),
)
def test_the_results_equal_a_fold_of_all_records(
    size: int, advance: int, grace: int, records: list[tuple[str, int]]
) -> None:
    """The model keeps every record. A window's final result has all records from before its close, and is sent once."""
    windows = TimeWindows(size, min(size, advance), grace)
    folded: dict[tuple[str, Window], list[tuple[int, str]]] = defaultdict(list)
    finals: list[WindowResult[Cell]] = []
    refused, now, dropped = 0, 0, 0
    with open_bench(Backend.IN_MEMORY) as bench:
        counts = aggregate(bench, windows, Emission.BOTH)
        for number, (key, step) in enumerate(records):
            ts, text = max(0, now + step), chr(65 + number)
            now = max(now, ts)
            for start in range(0, ts + 1, windows.advance_ms):
                if ts < start + size:
                    if start + size > now - grace:
                        folded[key, Window(start, start + size)].append((ts, text))
                    else:
                        refused += 1
            outcome = counts.process(key, Cell(text), ts, now)
            dropped += outcome.refused
            finals += outcome.finals
            for update in outcome.updates:
                seen = folded[key, update.window]
                assert update.value == Cell("".join(text for _, text in seen))
                assert update.timestamp == max(ts for ts, _ in seen)
            bench.commit()
    closed = sorted((w.start, key, w.end) for key, w in folded if w.end <= now - grace and folded[key, w])
    assert sorted((r.window.start, r.key, r.window.end) for r in finals) == closed
    assert dropped == refused
    for result in finals:
        assert result.value == Cell("".join(text for _, text in folded[result.key, result.window]))
