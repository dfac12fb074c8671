"""Sliding aggregates: one window per record time, both bounds inclusive."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.conformance.bench import Backend, Bench, open_bench
from forebay.conformance.cell import Cell
from forebay.operators import Emission, SlidingAggregate
from forebay.stores.window import Duplicates, WindowStore
from forebay.time import SlidingWindows, Window
from tests.operators.cells import append, empty


def aggregate(bench: Bench, windows: SlidingWindows, emission: Emission) -> SlidingAggregate[Cell, Cell]:
    keep = windows.retention_ms
    records = WindowStore("r", Cell, size_ms=1, retention_ms=keep, duplicates=Duplicates.KEEP)
    results = WindowStore("w", Cell, size_ms=1, retention_ms=keep)
    return SlidingAggregate(
        bench.open(records), bench.open(results), windows, initial=empty, add=append, emission=emission
    )


def test_a_record_exactly_the_difference_away_belongs_and_one_ms_more_does_not(bench: Bench) -> None:
    sums = aggregate(bench, SlidingWindows(10), Emission.UPDATES)
    sums.process("k", Cell("a"), 0, 0)
    assert [r.value for r in sums.process("k", Cell("b"), 10, 10).updates] == [Cell("ab")]
    assert [r.value for r in sums.process("k", Cell("c"), 11, 11).updates] == [Cell("bc")]


@pytest.mark.parametrize(("now", "finals"), [(15, 0), (16, 1)])
def test_a_window_closes_after_end_plus_grace(bench: Bench, now: int, finals: int) -> None:
    sums = aggregate(bench, SlidingWindows(3, grace_ms=5), Emission.FINAL)
    sums.process("k", Cell("a"), 10, 10)
    assert len(sums.close(now)) == finals
    assert sums.process("k", Cell("b"), 10, now).refused == finals


def test_stores_that_keep_too_little_are_refused() -> None:
    windows = SlidingWindows(10, grace_ms=1)
    records = WindowStore("r", Cell, size_ms=1, retention_ms=22, duplicates=Duplicates.KEEP)
    results = WindowStore("w", Cell, size_ms=1, retention_ms=21)
    with pytest.raises(ValueError, match=r"store w: .* at least 22 ms"):
        SlidingAggregate(records, results, windows, initial=empty, add=append)
    with pytest.raises(ValueError, match=r"store w: .*KEEP"):
        SlidingAggregate(results, results, windows, initial=empty, add=append)


@settings(deadline=None, max_examples=150)
@given(
    difference=st.integers(0, 8),
    grace=st.integers(0, 8),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-15, 15)), max_size=25),
)
def test_it_gives_what_a_list_of_windows_gives(difference: int, grace: int, records: list[tuple[str, int]]) -> None:
    windows = SlidingWindows(difference, grace)
    came: list[tuple[str, int]] = []
    folded: dict[tuple[str, int], int] = {}
    now, finals = 0, []
    with open_bench(Backend.IN_MEMORY) as bench:
        sums = aggregate(bench, windows, Emission.BOTH)
        for key, step in records:
            ts = max(0, now + step)
            now = max(now, ts)
            outcome = sums.process(key, Cell("x"), ts, now)
            finals += outcome.finals
            if now <= ts + grace:
                folded.setdefault((key, ts), sum(k == key and ts - difference <= t <= ts for k, t in came))
            for k, end in folded:
                if k == key and end - difference <= ts <= end and now <= end + grace:
                    folded[k, end] += 1
            came.append((key, ts))
            for update in outcome.updates:
                assert update.value == Cell("x" * folded[key, update.window.end])
                assert update.window == Window(update.window.end - difference, update.window.end)
            bench.commit()
    expected = {(k, end): n for (k, end), n in folded.items() if now > end + grace}
    assert {(r.key, r.window.end): len(r.value.json) if r.value else 0 for r in finals} == expected
    assert len(finals) == len(expected)
